"""Ids of a shard → ids of the whole, and back. Units and documents carry their shard in the high bits; repositories
are numbered in the order in which one index would have them, and named so that no two share a name; externals by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from codelens.cluster.sketch import Routes
from codelens.model.code import RepositoryId, UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.model.graph import EXTERNAL
from codelens.store.documents import RepositoryRow, RootNames, name_by_roots

LOCAL_BITS = 25  # 33 million units to a shard, and 32,768 shards below the numbers of externals
_LOCAL = (1 << LOCAL_BITS) - 1
MOST_SHARDS = EXTERNAL >> LOCAL_BITS


@dataclass(frozen=True, slots=True)
class Home:
    """The place of a repository."""

    shard: int
    row: RepositoryRow  # Its row in the shard
    name: str = ""  # Its name in answers; empty to tell it by its root from all others
    root: Path | None = None  # Its root in answers, if not the folder in which it was indexed


class Numbers:
    """The numbers of all shards. `homes` are the repositories in the order of one index."""

    def __init__(self, homes: Sequence[Home]) -> None:
        names = name_by_roots([home.row.root for home in homes if not home.name])
        self.repositories: list[RepositoryRow] = []
        self._homes: dict[int, Home] = {}
        self._number: dict[tuple[int, int], RepositoryId] = {}
        self._name: dict[tuple[int, str], str] = {}
        for place, home in enumerate(homes, start=1):
            number, name = RepositoryId(place), home.name or names[home.row.root]
            self.repositories.append(RepositoryRow(number, name, home.root or home.row.root))
            self._homes[number] = home
            self._number[home.shard, home.row.id] = number
            self._name[home.shard, home.row.name] = name
        self.shards = sorted({home.shard for home in homes})
        self.routes = Routes()
        self._external_of_node: dict[tuple[int, int], int] = {}
        self._places_of_external: dict[int, list[tuple[int, int]]] = {}
        self._number_of_external: dict[str, int] = {}
        self.unknown: set[tuple[int, int]] = set()  # Externals that `name_externals` must number

    def home(self, repository: int) -> tuple[int, RepositoryId]:
        """(shard, id there) of a repository."""
        home = self._homes[repository]
        return home.shard, home.row.id

    def repository(self, shard: int, local: int) -> RepositoryId:
        """The number of a shard's repository."""
        return self._number[shard, local]

    def names_by_root(self) -> dict[int, RootNames]:
        """Shard → root of each repository there → its name."""
        by_shard: dict[int, RootNames] = {}
        for home in self._homes.values():
            by_shard.setdefault(home.shard, RootNames())[home.row.root] = self._name[home.shard, home.row.name]
        return by_shard

    def name(self, shard: int, name: str) -> str:
        """The name of a shard's repository; other names stay."""
        return self._name.get((shard, name), name)

    def node(self, shard: int, local: int) -> int:
        """The number of a node of a shard's graph. What lies outside of all shards is one node, whoever names it."""
        if local < EXTERNAL:
            return -(shard << LOCAL_BITS | -local) if local < 0 else shard << LOCAL_BITS | local
        if (shard, local) not in self._external_of_node:
            self.unknown.add((shard, local))
        return self._external_of_node.get((shard, local), EXTERNAL)

    def group_nodes(self, nodes: Iterable[int]) -> dict[int, list[int]]:
        """Shard → the nodes there, in the given order; an external is in several."""
        by_shard: dict[int, list[int]] = {}
        for node in nodes:
            for shard, local in self._places_of_external.get(node, ()) if node >= EXTERNAL else (split_number(node),):
                by_shard.setdefault(shard, []).append(local)
        return by_shard

    def name_externals(self, held: Mapping[int, Mapping[str, int]]) -> None:
        """Number externals: shard → name → node there, for all shards that have these names."""
        for shard, names in held.items():
            for name, local in names.items():
                number = self._number_of_external.setdefault(name, EXTERNAL + 1 + len(self._number_of_external))
                if (shard, local) not in self._external_of_node:
                    self._external_of_node[shard, local] = number
                    self._places_of_external.setdefault(number, []).append((shard, local))
        self.unknown.clear()


def join_number(shard: int, local: int) -> UnitId:
    """The number of a shard's unit or document."""
    return UnitId(shard << LOCAL_BITS | local)


def split_number(number: int) -> tuple[int, int]:
    """(shard, number there) of a unit, a document, or a document's node."""
    if number < 0:
        return -number >> LOCAL_BITS, -(-number & _LOCAL)
    return number >> LOCAL_BITS, number & _LOCAL


def group_by_shard(numbers: Iterable[int]) -> dict[int, list[int]]:
    """Shard → the numbers there, in the given order."""
    by_shard: dict[int, list[int]] = {}
    for number in numbers:
        shard, local = split_number(number)
        by_shard.setdefault(shard, []).append(local)
    return by_shard
