"""Events of members of a group: each meets its own in arrays of the scalar engine."""
