"""Tables of measurements: reading and writing them."""
