"""Dask's workers: how to reach them, and how one builds a shard. No other package knows Dask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.errors import UsageError

RETRIES = 2
"""Times that a shard is built again, on another worker if its own died. Chosen."""


@contextmanager
def client_of(scheduler: str, workers: int) -> Iterator[Any]:
    """A connection to a scheduler; without an address, to a cluster of processes on this machine that ends with it.

    Raises UsageError if Dask is not installed.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("dask.distributed is not installed", "pip install 'codelens[cluster]'") from None
    if scheduler:
        with Client(scheduler) as client:
            yield client
        return
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def build_shard(file: str, roots: Sequence[str], settings: Settings) -> int:
    """Build one shard from scratch; returns its size. A file that is there was built before, for the same content."""
    from codelens.index import Index

    path = Path(file)
    if not path.is_file():
        Index.build(path, [Path(root) for root in roots], settings)
    return path.stat().st_size
