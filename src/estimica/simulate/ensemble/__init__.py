"""One model and experiment at many values of its tuners: members in, outputs or normal equations
per member out, with a status each."""
