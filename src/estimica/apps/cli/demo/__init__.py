"""The drum boiler of the demonstration: its model, its data, its study."""
