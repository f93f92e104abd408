"""From sorted equations to machine code."""
