"""Where the definitions of classes are found."""
