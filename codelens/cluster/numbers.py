"""Translate a shard's ids to ids of the whole cluster, and back. Ids of units and documents hold the shard in the high bits.
Repositories are numbered in the order of a single index, under unique names. Externals are numbered by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from codelens.cluster.sketch import Routes
from codelens.model.code import RepositoryId, UnitId
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.graph import EXTERNAL
from codelens.model.groups import group_pairs
from codelens.store.documents import RepositoryRow, RootNames, name_by_roots

LOCAL_BITS = 25  # Allows 33 million units per shard, and 32,768 shards below the ids of externals
_LOCAL = (1 << LOCAL_BITS) - 1
LocalNumber = tuple[int, int]  # (shard, id there)


@frozen_dataclass
class Home:
    """The shard that holds a repository, with its name and root in answers."""

    shard: int
    row: RepositoryRow  # Its row in the shard
    name: str = ""  # Its name in answers; if empty, a unique name is made from its root
    root: Path | None = None  # Its root in answers, if not the folder in which it was indexed


class Numbers:
    """Translates ids between shards and the whole cluster. `homes` are the repositories in the order of a single index."""

    def __init__(self, homes: Sequence[Home]) -> None:
        names = name_by_roots([home.row.root for home in homes if not home.name])
        self.repositories: list[RepositoryRow] = []
        self._homes: dict[int, Home] = {}
        self._number: dict[LocalNumber, RepositoryId] = {}
        self._name: dict[tuple[int, str], str] = {}
        for place, home in enumerate(homes, start=1):
            number, name = RepositoryId(place), home.name or names[home.row.root]
            self.repositories.append(RepositoryRow(number, name, home.root or home.row.root))
            self._homes[number] = home
            self._number[home.shard, home.row.id] = number
            self._name[home.shard, home.row.name] = name
        self.shards = sorted({home.shard for home in homes})
        self.routes = Routes()
        self._external_of_node: dict[LocalNumber, int] = {}
        self._places_of_external: dict[int, list[LocalNumber]] = {}
        self._number_of_external: dict[str, int] = {}
        self.unknown: set[LocalNumber] = set()  # Externals that `name_externals` must number

    def find_home(self, repository: int) -> tuple[int, RepositoryId]:
        """Find the shard of a repository, and its id there."""
        home = self._homes[repository]
        return home.shard, home.row.id

    def translate_repository(self, shard: int, local: int) -> RepositoryId:
        """Find the id of a shard's repository in the whole cluster."""
        return self._number[shard, local]

    def map_roots_to_names(self) -> dict[int, RootNames]:
        """Map each shard to the roots of its repositories, and each root to the repository's name in answers."""
        by_shard: dict[int, RootNames] = {}
        for home in self._homes.values():
            by_shard.setdefault(home.shard, RootNames())[home.row.root] = self._name[home.shard, home.row.name]
        return by_shard

    def translate_name(self, shard: int, name: str) -> str:
        """Translate the name of a shard's repository; other names are returned unchanged."""
        return self._name.get((shard, name), name)

    def translate_node(self, shard: int, local: int) -> int:
        """Translate a node of a shard's graph. An external name is the same node in all shards; see `name_externals`."""
        if local < EXTERNAL:
            return -(shard << LOCAL_BITS | -local) if local < 0 else shard << LOCAL_BITS | local
        if (shard, local) not in self._external_of_node:
            self.unknown.add((shard, local))
        return self._external_of_node.get((shard, local), EXTERNAL)

    def group_nodes(self, nodes: Iterable[int]) -> dict[int, list[int]]:
        """Group nodes by shard, in the given order, as ids of the shard; an external may be in several shards."""
        places = (self._places_of_external.get(n, ()) if n >= EXTERNAL else (split_number(n),) for n in nodes)
        return group_pairs(chain.from_iterable(places))

    def name_externals(self, held: Mapping[int, Mapping[str, int]]) -> None:
        """Assign ids to externals by name. `held`: shard → name → node there, for all shards that have these names."""
        for shard, names in held.items():
            for name, local in names.items():
                number = self._number_of_external.setdefault(name, EXTERNAL + 1 + len(self._number_of_external))
                if (shard, local) not in self._external_of_node:
                    self._external_of_node[shard, local] = number
                    self._places_of_external.setdefault(number, []).append((shard, local))
        self.unknown.clear()


def join_number(shard: int, local: int) -> UnitId:
    """Make the id of a shard's unit or document in the whole cluster."""
    return UnitId(shard << LOCAL_BITS | local)


def split_number(number: int) -> LocalNumber:
    """Split the id of a unit, a document or a document's node into its shard and its id there."""
    if number < 0:
        return -number >> LOCAL_BITS, -(-number & _LOCAL)
    return number >> LOCAL_BITS, number & _LOCAL


def group_by_shard(numbers: Iterable[int]) -> dict[int, list[int]]:
    """Group ids by shard, in the given order, as ids of the shard."""
    return group_pairs(map(split_number, numbers))
