"""Edges of remote procedures: methods that implement a service of a .proto file, and calls of its procedures.

The code between the two is generated and mostly in no repository, so both are found by the names that the compilers of gRPC
give: a method counts if its type builds on `XServicer` or the like, a call if its receiver is made of or declared as `XStub`,
and only if a service X with that method is declared. A stub's name on hand-written code does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from codelens.linking.evaluator import Evaluator, Value
from codelens.linking.facts import PROCEDURES, PROTOBUF, Definition, LinkFacts
from codelens.linking.references import MOST_GUESSES, EdgeEnd, FoundEdge
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Reference
from codelens.text.expressions import steps, type_text

DEEPEST = 4  # Names that a stub passes through on its way to a call. Field, parameter, variable.
_SURE = re.compile(
    r"(?:^|\.)(?:(\w+?)(?:Async)?Servicer|(?:Unimplemented|Unsafe)(\w+?)(?:Server|Handler)|(\w+?)(?:Coroutine)?ImplBase"
    r"|(\w+)\.(?:\4Base|(?:Async|Callback)?Service))$"
)  # Bases of a service's implementation in Python, Go, Java, Kotlin, C#, C++ and Ruby
_UNSURE = re.compile(r"(?:^|\.)(I?(\w+?)(?:Base|Server|AsyncProvider|Provider)?)$")
"""Bases in TypeScript, Rust and Swift, or in C# by a bare name. Hand-written types have such names as well."""
_CLIENTS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(\w+)Grpc(?:Kt)?\.new\w*Stub\b",
        r"\b(\w+)(?:\.|::)(?:New)?(?:Async)?Stub\b",
        r"\bNew(\w+)Client\b",
        r"\b(\w+?)(?:Blocking|Future|Async|Coroutine)?Stub\b",
        r"\b(\w+?)(?:Async)?Client\b",
    )
)  # Constructors and types of clients: Java and Kotlin; C++ and Ruby; Go; Python and Java; C#, Rust, TypeScript and Go


class Procedures:
    """Finds the edges of documents of one repository to remote procedures."""

    def __init__(self, values: Evaluator) -> None:
        self._values = values
        self._catalog = values.catalog
        self._names = self._catalog.member_names(PROTOBUF)
        """The names of all remote procedures, since most calls have another name."""

    def edges(self, facts: LinkFacts, references: Sequence[Reference]) -> Iterator[FoundEdge]:
        """The methods of one document that implement remote procedures and the calls of them; none in generated code."""
        self._catalog.record(PROCEDURES)
        if not self._names or _is_generated(facts):
            return
        yield from self._implementing(facts)
        for reference in references:
            called = reference.kind == "call" and reference.receiver
            if called and not self._names.isdisjoint(_spellings(reference.name)):
                yield from self._calling(facts, reference)

    def _implementing(self, facts: LinkFacts) -> Iterator[FoundEdge]:
        known: dict[int, list[Definition]] = {}
        for unit in facts.definitions:
            if self._names.isdisjoint(_spellings(unit.name)):
                continue
            holder = self._values.holder(facts, unit.place) if unit.kind == "method" else None
            if holder is None or holder.facts.file.language.name == PROTOBUF:
                continue
            if holder.id not in known:
                known[holder.id] = self._services_of(holder)
            procedures = self._among(known[holder.id], unit.name, facts)
            line = self._catalog.line_of(unit) if procedures else 0
            for found in procedures:
                yield FoundEdge(unit.place, "implements_rpc", EdgeEnd(found), line, _tier(procedures))

    def _services_of(self, holder: Definition) -> list[Definition]:
        """The services that a type implements, by the names of its bases."""
        facts = self._catalog.about(holder)
        found: dict[int, Definition] = {}
        for text, place in facts.bases(holder):
            head = type_text(text).head
            if sure := _SURE.search(head):
                services = self._named([name for name in sure.groups() if name])
            elif unsure := _UNSURE.search(head):
                last = head.rpartition(".")[2]
                services = self._named([last, *unsure.groups(), last.removesuffix("Server").removesuffix("Base")])
                if services and _is_handwritten(self._values.type_named(head, facts, place)):
                    services = []
            else:
                services = []
            found.update((service.id, service) for service in services)
        return list(found.values())

    def _calling(self, facts: LinkFacts, reference: Reference) -> Iterator[FoundEdge]:
        names = self._client(reference.receiver, facts, reference.unit, reference.start)
        procedures = self._among(self._named(names), reference.name, facts) if names else []
        if not procedures:
            return
        if _is_handwritten(self._values.expression(reference.receiver, facts, reference.unit, reference.start)):
            return  # a hand-written wrapper of a stub; the call inside it is the remote one
        for found in procedures:
            yield FoundEdge(reference.unit, "consumes_rpc", EdgeEnd(found), reference.line, _tier(procedures))

    def _client(self, text: str, facts: LinkFacts, unit: int | None, before: int, deep: int = 0) -> list[str]:
        """Names of the services that an expression may be a client of, by its own name or that of its type."""
        if named := [match for pattern in _CLIENTS for match in pattern.findall(text)]:
            return named
        parts = steps(text)
        if deep > DEEPEST or not parts or any(part.how not in ("name", "member") for part in parts):
            return []
        last = parts[-1].text
        if len(parts) > 1:
            owner = self._values.expression(".".join(part.text for part in parts[:-1]), facts, unit, before)
            return self._client_in(owner.definition if owner else None, last, deep)
        around = facts.definitions[unit] if unit is not None else None
        while True:
            bound = facts.bound(around.place if around else None, last, before)
            if bound or around is None:
                break
            around = around.parent
        is_field = around is not None and around.kind in TYPE_KINDS
        earlier = [b for b in bound if (is_field or b.start < before) and b.text and b.text != text]
        for binding in reversed(earlier):
            if found := self._client(binding.text, facts, binding.unit, binding.start, deep + 1):
                return found
        return [] if bound else self._client_in(self._values.holder(facts, unit), last, deep)

    def _client_in(self, owner: Definition | None, name: str, deep: int) -> list[str]:
        """Names of the services that a field may be a client of, by its declaration or by what a member assigns to it."""
        if owner is None or owner.kind not in TYPE_KINDS:
            return []
        facts, name = self._catalog.about(owner), name.lstrip("@")
        declared, assigned = facts.fields.get((owner.qualified, name), ((), ()))
        self._catalog.record("m", facts.file.path, f"{owner.qualified}.{name}")
        for binding in [*declared, *assigned]:
            if binding.text and (found := self._client(binding.text, facts, binding.unit, binding.start, deep + 1)):
                return found
        return []

    def _named(self, names: Sequence[str]) -> list[Definition]:
        """The services of any of these names, except names that many declare."""
        found = [d for name in dict.fromkeys(names) for d in self._catalog.named(PROTOBUF, name)]
        return [d for d in found if d.kind == "interface"]

    def _among(self, services: Sequence[Definition], name: str, facts: LinkFacts) -> list[Definition]:
        """The procedures of that name in these services; of several, those of files that the document imports."""
        found = []
        for service in services:
            spelt = (self._catalog.members(service, spelling) for spelling in _spellings(name))
            found += next(([d for d in named if d.kind == "method"] for named in spelt if named), [])
        if len(found) > 1:
            imported = " ".join(f"{one.module} {one.name}" for one in facts.imports)
            words = set(re.split(r"\W+", imported)) | set(re.split(r"\W+|_pb\w*|_grpc\w*", imported))
            found = [d for d in found if _list_own_words(d.facts) & words] or found
        return found if len(found) <= MOST_GUESSES else []


@lru_cache(maxsize=10_000)
def _spellings(name: str) -> list[str]:
    """The spellings of a method's name in a .proto file: say_hello, sayHello and SayHelloAsync are SayHello."""
    joined = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return list(dict.fromkeys([name, joined, joined.removesuffix("Async")]))


def _list_own_words(facts: LinkFacts) -> set[str]:
    """Words by which an import may name a .proto file: its own name, its folder's, and the last part of its package."""
    folder, _, name = facts.file.path.rpartition("/")
    return {name.partition(".")[0], folder.rpartition("/")[2], facts.file.namespace.rpartition(".")[2]} - {""}


def _is_generated(facts: LinkFacts) -> bool:
    return "generated" in facts.file.roles


def _is_handwritten(value: Value | None) -> bool:
    """True for a definition of the repository that is not generated."""
    definition = value.definition if value else None
    if definition is None or definition.facts.file.language.name == PROTOBUF:
        return False
    return not _is_generated(definition.facts)


def _tier(found: Sequence[Definition]) -> str:
    return "literal" if len(found) == 1 else "ambiguous"
