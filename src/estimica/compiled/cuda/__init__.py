"""A model as text of CUDA C: what a GPU computes of it, one member a thread."""
