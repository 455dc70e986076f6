"""Judge how sure it is that a token of a target's name means the target.

The linker's scopes, imports and types decide. A token means this target, another definition, a local variable, or nothing
certain.
"""

from __future__ import annotations

from typing import NamedTuple

from codelens.graph.meanings import FIELD, LOCAL, MODULE, NameReader, TokenMeaning, is_key
from codelens.lang.tokens import NameToken, Role
from codelens.linking.facts import FUNCTIONS, Definition, load_words, use_dots
from codelens.linking.imports import find_import
from codelens.linking.values import VALUES
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Import
from codelens.model.graph import LIKELY, ONLY_BY_NAME, OUTSIDE, SURE

ANOTHER, A_LOCAL = "another definition", "a local name"
SEVERAL = "*"  # The holder of a target whose definitions belong to several types
TIER_OF_CERTAINTY = {SURE: "implied", LIKELY: "unique", ONLY_BY_NAME: "ambiguous"}
"""Certainty of a place → tier of its relation."""
_CLOSED_MODULES = ("dotted", "relative", "package", "crate")
"""Module rules of languages in which a bare name must be defined or imported in its file or package."""


class Target(NamedTuple):
    """The definitions of one name that a question is about. Fields, and names from outside of the index, have no units."""

    name: str
    kin: str  # Its language family; empty if there are several
    start: int  # The only definition that the user named; it is not listed. 0 if there are several.
    units: frozenset[int]  # What the user named, with overloads and other parts of the same qualified name
    family: frozenset[int]  # Methods that override these or are overridden by them
    kind: str
    holder: str  # Name of the type or module that contains it; empty at the top level
    namesakes: int  # Number of other definitions of the name in its language family
    fields: bool = False  # True if fields of this name are meant too, in any type

    def has_field(self, holder: str) -> bool:
        """True if the target includes the field of this name in a type."""
        if self.kind in (FIELD, *VALUES) and self.holder:
            return self.holder in (holder, SEVERAL) or (self.fields and self.kind != FIELD)
        return self.fields


class CertaintyJudge:
    """A judge of how sure it is that the tokens of a name in one document mean a target."""

    def __init__(self, target: Target, names: NameReader) -> None:
        self._target, self._names, self._values, self._facts = target, names, names.values, names.facts

    def judge_definition(self, definition: Definition, token: NameToken) -> tuple[str, str]:
        """Judge a token that is the name of some definition; returns (role, certainty)."""
        target = self._target
        if definition.id in target.units:
            return Role.DEFINITION, SURE
        if self._is_constructor_of_target(definition):
            return Role.DECLARATION, SURE
        if token.role == Role.KEY and (target.holder or target.fields):
            return Role.KEY, ONLY_BY_NAME  # a function in an object, whose type may be the target's
        return Role.DECLARATION, ONLY_BY_NAME if definition.id in target.family else ANOTHER

    def judge_token(self, meaning: TokenMeaning) -> str:
        """Judge a token: SURE, LIKELY or ONLY_BY_NAME if it may mean the target, else ANOTHER or A_LOCAL."""
        target, token, role = self._target, meaning.token, meaning.token.role
        if role in (Role.NAME, Role.TEXT):
            return ONLY_BY_NAME
        if role == Role.PARAMETER:
            return A_LOCAL
        if role == Role.CALL and not token.bare and target.kind == FIELD and self._names.language.calls_no_fields:
            return ANOTHER
        if target.kind == OUTSIDE:
            return self._judge_outside(token)
        if role == Role.DECLARATION and (target.kind not in TYPE_KINDS or token.holder):
            return self._judge_declaration(token, meaning.reference.start)
        if role == Role.UNPACK and target.holder:
            return self._guess(token)
        if role == Role.IMPORT:
            return self._judge_import(meaning)
        # A key in a literal of the type that contains the target.
        is_of_type = role == Role.KEY and meaning.holder is not None and meaning.holder.name == target.holder
        if field_holder := meaning.field_holder:
            return SURE if is_of_type or target.has_field(field_holder.name) else ANOTHER
        if is_key(token):
            is_meant = any(definition.id in target.units for definition in meaning.definitions)
            return SURE if is_meant or is_of_type else self._guess(token)
        return self._judge_definitions(meaning) if meaning.definitions else self._judge_other(meaning)

    def _judge_outside(self, token: NameToken) -> str:
        """Judge a name from outside of the index: sure after its module or type, or if imported from there."""
        holder, name = self._target.holder, self._target.name
        if not holder:
            return ONLY_BY_NAME
        imports = self._facts.imports
        if token.receiver:
            modules = {i.alias or i.module for i in imports if not i.name and i.module == holder}
            names = {i.alias or i.name for i in imports if i.name and f"{i.module}.{i.name}" == holder}
            is_meant = token.receiver in modules | names or f".{token.receiver}".endswith(f".{holder}")
        else:
            is_meant = token.bare and any(i.module == holder and name in (i.name, i.alias) for i in imports)
        return SURE if is_meant else ANOTHER

    def _judge_declaration(self, token: NameToken, start: int) -> str:
        """Judge the name of a declaration that is not a unit: a field, or the prototype of a function."""
        target = self._target
        if target.kind == FIELD or (target.fields and token.holder):
            return SURE if target.has_field(token.holder) else ANOTHER
        if target.kind in FUNCTIONS and start in self._names.field_starts:
            return ANOTHER
        if target.kind in FUNCTIONS and not token.holder:
            return LIKELY if not target.namesakes else ONLY_BY_NAME
        if target.kind in TYPE_KINDS:
            return SURE if token.holder == target.name else ANOTHER  # a constructor
        return ANOTHER if token.holder and token.holder != target.holder else self._guess(token)

    def _judge_import(self, meaning: TokenMeaning) -> str:
        """Judge a name in an import statement, either imported or a part of the module's path."""
        if meaning.is_known and meaning.key[0] != MODULE:
            return self._judge_imported(meaning)
        imports = (one for one in self._facts.imports if self._target.name in (one.name, one.alias))
        imported = next(imports, None)
        return self._judge_unknown_import(imported, meaning.token) if imported else ONLY_BY_NAME

    def _judge_unknown_import(self, imported: Import, token: NameToken) -> str:
        module = find_import(self._values.catalog, self._facts, imported)
        return ANOTHER if module is None and not self._may_be_in_repository(imported) else self._guess(token)

    def _judge_imported(self, meaning: TokenMeaning) -> str:
        target = self._target
        if holder := meaning.field_holder:
            return SURE if target.has_field(holder.name) else ANOTHER
        ids = {d.id for one in meaning.definitions for d in (one, *one.facts.top.get(target.name, ()))}
        return SURE if ids & target.units else ANOTHER

    def _may_be_in_repository(self, imported: Import) -> bool:
        """True if an unresolved import may lead into this repository, judging by its path, package name or namespace."""
        module, catalog = imported.module, self._values.catalog
        if module.startswith((".", "crate", "super", "self")):
            return True
        parts = module.replace("::", "/").split("/")
        names = (parts[0], "/".join(parts[:2]), module.partition(".")[0])
        if any(map(catalog.manifests.has_package, names)):
            return True
        kin, outer = self._names.language.kin, use_dots(module).replace("/", ".")
        if catalog.find_named(kin, outer.partition(".")[0], ("module",)):
            return True
        while outer and (kin, outer) not in catalog.by_namespace:
            outer = outer.rpartition(".")[0]
        return bool(outer)

    def _judge_definitions(self, meaning: TokenMeaning) -> str:
        target, definition = self._target, meaning.definitions[0]
        parent, is_made = definition.parent, meaning.reference.kind in ("call", "construct")
        if _is_constructor(definition) and target.kind in FUNCTIONS and not is_made:
            return ANOTHER  # its type is meant
        if definition.id in target.units or (parent is not None and parent.id in target.units):
            return SURE  # its parent is meant by a constructor, which may have the name of its type
        if definition.id in target.family:
            return ONLY_BY_NAME  # one may run instead of the other
        if definition.name != target.name:
            return self._guess(meaning.token)
        if definition.kind in TYPE_KINDS and target.kind in FUNCTIONS and target.holder == definition.name and is_made:
            return SURE  # the constructor makes the object
        return SURE if self._is_constructor_of_target(definition) else ANOTHER

    def _is_constructor_of_target(self, definition: Definition) -> bool:
        """True for a constructor that is named like its type, if that type is the target."""
        holder = self._values.find_owner(definition.facts, definition.place) if _is_constructor(definition) else None
        return holder is not None and holder.id in self._target.units

    def _judge_other(self, meaning: TokenMeaning) -> str:
        """Judge a name that is local, from outside of the index, or not resolved."""
        target, token, reference, value = self._target, meaning.token, meaning.reference, meaning.value
        if value is not None and value.as_definition is not None:  # by a local name for it
            return SURE if value.as_definition.id in target.units else A_LOCAL
        if value is None or (not token.bare and value.how != "external"):
            return self._guess(token)
        if not token.bare:
            owner = self._values.evaluate(reference.receiver, self._facts, reference.unit, reference.start)
            imported = self._facts.names.get(reference.receiver)
            if owner is None or owner.how not in ("module", "external") or imported is None:
                return ONLY_BY_NAME
            return self._guess(token) if self._may_be_in_repository(imported) else ANOTHER
        imported = self._facts.names.get(target.name)
        if value.how == "external" and imported is not None:
            brought = self._names.find_imported(meaning, [imported])
            if brought is not None and brought.is_known and brought.key[0] != MODULE:
                return self._judge_imported(brought)
            return self._judge_unknown_import(imported, token)
        if meaning.key[0] == LOCAL and meaning.key[1] is not None:
            return self._guess(token) if meaning.declared[0][1] in self._names.unpacked else A_LOCAL
        at_top = self._facts.top.get(target.name, ())
        return SURE if any(d.id in target.units for d in at_top) else self._guess(token)

    def _guess(self, token: NameToken) -> str:
        """Judge a token by name alone: LIKELY if nothing else in the repository has this name and the syntax fits the target."""
        target = self._target
        if target.namesakes or target.family or target.name in load_words().common:
            return ONLY_BY_NAME
        is_member, language = bool(target.holder), self._names.language
        if token.role == Role.KEY:
            return LIKELY if is_member and target.kind in (*VALUES, FIELD) else ONLY_BY_NAME
        if is_member:
            fits = not token.bare or language.implicit_self
        elif token.bare:
            is_script = language.modules == "relative" and not self._facts.imports
            is_closed = language.modules in _CLOSED_MODULES and not self._facts.wildcards
            fits = not is_closed or is_script or target.kind == "macro"
        else:
            fits = token.receiver in self._facts.names
        return LIKELY if fits else ONLY_BY_NAME


def _is_constructor(definition: Definition) -> bool:
    """True for a constructor that is named like its type, as in C++ and Java."""
    has_type_name = definition.container.rpartition(".")[2] == definition.name
    return has_type_name and definition.kind in FUNCTIONS and definition.facts.file.language.implicit_self
