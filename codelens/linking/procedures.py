"""Find the edges of remote procedures: methods that implement a service of a .proto file, and calls of its procedures.

The code between the two is generated and usually not in the repository, so both are found by the names that gRPC's compilers
give. A method counts if its type is based on `XServicer` or the like, a call if its receiver is created or declared as `XStub`;
and only if a service X with that method is declared. A hand-written class with a stub's name does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from codelens.linking.evaluator import Evaluator
from codelens.linking.facts import PROCEDURES, PROTOBUF, Definition, LinkFacts
from codelens.linking.references import MOST_GUESSES, FoundEdge
from codelens.linking.values import Value
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Reference
from codelens.text.expressions import parse_type, split_steps

DEEPEST = 4  # Limit of names through which a stub is followed to a call: field, parameter, variable
_SURE = re.compile(
    r"(?:^|\.)(?:(\w+?)(?:Async)?Servicer|(?:Unimplemented|Unsafe)(\w+?)(?:Server|Handler)|(\w+?)(?:Coroutine)?ImplBase"
    r"|(\w+)\.(?:\4Base|(?:Async|Callback)?Service))$"
)  # Bases of a service's implementation in Python, Go, Java, Kotlin, C#, C++ and Ruby
_UNSURE = re.compile(r"(?:^|\.)(I?(\w+?)(?:Base|Server|AsyncProvider|Provider)?)$")
"""Bases in TypeScript, Rust and Swift, or in C# without a qualifier. Hand-written types may have such names too."""
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
    """The edges that lead from documents of one repository to remote procedures."""

    def __init__(self, values: Evaluator) -> None:
        self._values = values
        self._catalog = values.catalog
        self._names = self._catalog.list_member_names(PROTOBUF)
        """The names of all remote procedures, to skip the many other calls quickly."""

    def find_procedure_edges(self, facts: LinkFacts, references: Sequence[Reference]) -> Iterator[FoundEdge]:
        """Find the edges of methods that implement remote procedures and of calls to them; none in generated code."""
        self._catalog.record(PROCEDURES)
        if not self._names or "generated" in facts.file.roles:
            return
        services: dict[int, list[Definition]] = {}  # Type → the services that it implements
        for unit in facts.definitions:
            if self._names.isdisjoint(_list_spellings(unit.name)):
                continue
            holder = self._values.find_owner(facts, unit.place) if unit.kind == "method" else None
            if holder is None or holder.facts.file.language.name == PROTOBUF:
                continue
            if holder.id not in services:
                services[holder.id] = self._list_implemented(holder)
            if procedures := self._choose_procedures(services[holder.id], unit.name, facts):
                yield from _make_edges(unit.place, "implements_rpc", procedures, self._catalog.find_line(unit))
        for reference in references:
            is_call = reference.kind == "call" and reference.receiver
            if not is_call or self._names.isdisjoint(_list_spellings(reference.name)):
                continue
            place = (facts, reference.unit, reference.start)
            services_named = self._find_services(self._name_services(reference.receiver, *place))
            procedures = self._choose_procedures(services_named, reference.name, facts)
            # In a hand-written wrapper of a stub, the call inside it is the remote one.
            if procedures and not _is_handwritten(self._values.evaluate_expression(reference.receiver, *place)):
                yield from _make_edges(reference.unit, "consumes_rpc", procedures, reference.line)

    def _list_implemented(self, holder: Definition) -> list[Definition]:
        """List the services that a type implements, judging by the names of its bases."""
        facts = self._catalog.read_facts_of(holder)
        implemented: dict[int, Definition] = {}
        for text, place in facts.list_base_texts(holder):
            head, services = parse_type(text).head, list[Definition]()
            if sure := _SURE.search(head):
                services = self._find_services([name for name in sure.groups() if name])
            elif unsure := _UNSURE.search(head):
                last = head.rpartition(".")[2]
                names = [last, *unsure.groups(), last.removesuffix("Server").removesuffix("Base")]
                services = self._find_services(names)
                if services and _is_handwritten(self._values.resolve_type_name(head, facts, place)):
                    services = []
            implemented.update((service.id, service) for service in services)
        return list(implemented.values())

    def _name_services(self, text: str, facts: LinkFacts, unit: int | None, before: int, deep: int = 0) -> list[str]:
        """List the services that an expression may be a client of, judging by its own name or that of its type."""
        if names := [match for pattern in _CLIENTS for match in pattern.findall(text)]:
            return names
        parts = split_steps(text)
        if deep > DEEPEST or not parts or any(part.how not in ("name", "member") for part in parts):
            return []
        last = parts[-1].text
        if len(parts) > 1:
            owner = self._values.evaluate_expression(".".join(part.text for part in parts[:-1]), facts, unit, before)
            return self._name_services_of_field(owner.definition if owner else None, last, deep)
        around = facts.definitions[unit] if unit is not None else None
        while not (bound := facts.find_bindings(around.place if around else None, last, before)) and around is not None:
            around = around.parent
        is_field = around is not None and around.kind in TYPE_KINDS
        earlier = [b for b in bound if (is_field or b.start < before) and b.text and b.text != text]
        for binding in reversed(earlier):
            if names := self._name_services(binding.text, facts, binding.unit, binding.start, deep + 1):
                return names
        return [] if bound else self._name_services_of_field(self._values.find_owner(facts, unit), last, deep)

    def _name_services_of_field(self, owner: Definition | None, name: str, deep: int) -> list[str]:
        """List the services that a field may be a client of, judging by its declaration and the values assigned to it."""
        if owner is None or owner.kind not in TYPE_KINDS:
            return []
        facts, name = self._catalog.read_facts_of(owner), name.lstrip("@")
        declared, assigned = facts.fields.get((owner.qualified, name), ((), ()))
        self._catalog.record("m", facts.file.path, f"{owner.qualified}.{name}")
        for b in [*declared, *assigned]:
            if b.text and (names := self._name_services(b.text, facts, b.unit, b.start, deep + 1)):
                return names
        return []

    def _find_services(self, names: Sequence[str]) -> list[Definition]:
        """Find the services with one of these names, except names with too many definitions."""
        definitions = [d for name in dict.fromkeys(names) for d in self._catalog.find_named(PROTOBUF, name)]
        return [d for d in definitions if d.kind == "interface"]

    def _choose_procedures(self, services: Sequence[Definition], name: str, facts: LinkFacts) -> list[Definition]:
        """Choose the procedures of a name in services; of several, those whose file, folder or package is imported."""
        procedures = []
        for service in services:
            members = (self._catalog.find_members(service, spelling) for spelling in _list_spellings(name))
            procedures += next(([d for d in same if d.kind == "method"] for same in members if same), [])
        if len(procedures) > 1:
            imported = " ".join(f"{imported_module.module} {imported_module.name}" for imported_module in facts.imports)
            words = {*re.split(r"\W+", imported), *re.split(r"\W+|_pb\w*|_grpc\w*", imported)} - {""}
            fitting = []
            for procedure in procedures:
                file = procedure.facts.file
                folder, _, own_name = file.path.rpartition("/")
                names = {own_name.partition(".")[0], folder.rpartition("/")[2], file.namespace.rpartition(".")[2]}
                fitting += [procedure] if names & words else []
            procedures = fitting or procedures
        return procedures if len(procedures) <= MOST_GUESSES else []


def _make_edges(unit: int | None, kind: str, targets: Sequence[Definition], line: int) -> list[FoundEdge]:
    return [FoundEdge(unit, kind, t, line, "literal" if len(targets) == 1 else "ambiguous") for t in targets]


@lru_cache(maxsize=10_000)
def _list_spellings(name: str) -> list[str]:
    """List how a method's name may be spelled in a .proto file: say_hello, sayHello and SayHelloAsync become SayHello."""
    joined = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return list(dict.fromkeys([name, joined, joined.removesuffix("Async")]))


def _is_handwritten(value: Value | None) -> bool:
    """True if the value is a definition in the repository that is not generated."""
    file = value.definition.facts.file if value and value.definition else None
    return file is not None and file.language.name != PROTOBUF and "generated" not in file.roles
