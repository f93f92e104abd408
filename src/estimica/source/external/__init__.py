"""External functions that have a twin here: what C and FORTRAN libraries compute, in Python."""
