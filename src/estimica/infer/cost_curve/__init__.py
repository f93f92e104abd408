"""The cost over one tuner."""
