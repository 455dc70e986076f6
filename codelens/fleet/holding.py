"""Shards that workers hold open, as actors that answer requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from codelens.cluster.numbers import Home
from codelens.cluster.shards import Request, Shard
from codelens.cluster.store import ShardedStore
from codelens.errors import CodelensError, UsageError
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store

T = TypeVar("T")

SHARED = ("embedder_fingerprint", "embedder_setting", "embedder", "fuzzy", "vector", "state")
"""Keys of `meta` that shards must agree on."""


class ShardLostError(CodelensError):
    """A shard did not answer in time, or its worker died."""

    def __init__(self, shard: int, reason: str) -> None:
        super().__init__(f"shard {shard} did not answer: {reason}")
        self.shard = shard


class HeldShard:
    """A shard in a worker's process. It opens its file when it is first asked, and keeps it open."""

    def __init__(self, file: str) -> None:
        self._shard = Shard(Store.read(Path(file), accepted=True))

    def answers(self, message: Sequence[Request]) -> list[Any]:
        """The results of the requests of one message."""
        return self._shard.answers(message)

    def described(self) -> tuple[list[RepositoryRow], dict[str, str]]:
        """(repositories in order of their ids, what all shards must agree on)."""
        store = self._shard.store
        meta = {key: value for key in SHARED if (value := store.meta(key))}
        rows = sorted(store.documents.repositories(), key=lambda row: row.id)
        return rows, {**meta, "schema": str(store.schema())}


class DaskShards:
    """The transport over workers: one message to each shard that a call concerns, all sent before the first answer is read."""

    def __init__(self, client: Any, files: Sequence[Path], seconds: float) -> None:
        """`seconds`: how long an answer may take."""
        self._seconds = seconds
        names = sorted(client.scheduler_info(n_workers=-1)["workers"])
        placed = [
            client.submit(HeldShard, str(file), actor=True, pure=False, workers=[names[at % len(names)]])
            for at, file in enumerate(files)
        ]
        self._actors = [future.result() for future in placed]

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """Shard → its answers. Raises ShardLostError."""
        sent = {number: self._actors[number].answers(list(message)) for number, message in messages.items()}
        return {number: self._result(number, future) for number, future in sent.items()}

    def _result(self, number: int, future: Any) -> Any:
        try:
            return future.result(timeout=self._seconds)
        except (TimeoutError, OSError, RuntimeError) as fault:
            raise ShardLostError(number, str(fault) or type(fault).__name__) from fault

    def answered(
        self, place: Path, order: Sequence[str], ask: Callable[[ShardedStore], T]
    ) -> tuple[T, Mapping[int, ShardLostError]]:
        """(the answer of all shards that answer, those that do not).

        A shard that is lost on the way is left out from the start: the answer is that of one index of the others.
        """
        lost: dict[int, ShardLostError] = {}
        while True:
            try:
                return ask(self.store(place, order, lost)), lost
            except ShardLostError as fault:
                lost[fault.shard] = fault

    def store(self, place: Path, order: Sequence[str], without: Collection[int] = ()) -> ShardedStore:
        """The store that these shards are together; `order` are the roots as the manifest has them."""
        sent = {number: actor.described() for number, actor in enumerate(self._actors) if number not in without}
        told = {number: self._result(number, future) for number, future in sent.items()}
        metas = [meta for _, meta in told.values()]
        if any(meta != metas[0] for meta in metas):
            raise UsageError("the shards were not built in the same way", "`codelens cluster index` builds them again")
        homes = [Home(number, row) for number, (rows, _) in told.items() for row in rows]
        place_of = {root: at for at, root in enumerate(order)}
        homes.sort(key=lambda home: place_of[str(home.row.root)])
        return ShardedStore(place, self, homes, metas[0] if metas else {})
