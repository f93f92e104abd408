"""Where runs begin, in compiled code: what `initial.py` does first, for one member or many."""
