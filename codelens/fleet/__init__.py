"""Many repositories on many processes: shards that Dask's workers build and hold open, and a manifest that names them."""
