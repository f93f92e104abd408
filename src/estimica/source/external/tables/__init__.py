"""Tables of one and two variables, in the model or on file, as expressions."""
