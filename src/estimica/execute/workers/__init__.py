"""Who does the work: this process, processes beside it, a Dask cluster."""
