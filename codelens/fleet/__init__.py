"""Index and search many repositories in many processes: Dask workers build and open shards, and a manifest lists them."""
