"""Ensembles on a GPU: one member a thread, the model's functions as CUDA C compiled at run time."""
