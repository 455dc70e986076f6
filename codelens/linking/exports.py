"""What a module knows by a name: defined there, imported there, passed on by a wildcard, or a module inside it."""

from __future__ import annotations

from codelens.linking.answers import Answers, Value
from codelens.linking.facts import DocumentFacts
from codelens.linking.modules import Module, find_import, find_module


class Exports(Answers):
    """Names that modules offer."""

    def from_module(self, module: Module | None, name: str, facts: DocumentFacts) -> Value | None:
        if module is None:
            return None
        if not name or name == "*":
            return Value("module", module=module, tier="import")
        if name == "default" and (found := self._default(module)):
            return found
        if found := self.exported(module, name):
            return found._replace(tier="import")
        return None

    def imported(self, module: Module, name: str, facts: DocumentFacts) -> Value | None:
        """What an import of a name from a module brings."""
        return self.from_module(module, name, facts)

    def _default(self, module: Module) -> Value | None:
        """What a module exports by default: a definition of that name, or one named like the file."""
        if found := self.exported(module, "default"):
            return found._replace(tier="import")
        for document in module.documents:
            facts = self.catalog.facts(document)
            self.catalog.ask(f"d:{facts.file.path}#default")
            exported = facts.bound(None, "default")
            if exported and (value := self.bound_value(exported, facts, 1 << 62)):
                return value._replace(tier="import")
        return None

    def exported(self, module: Module, name: str) -> Value | None:
        """What a module knows by a name: defined there, imported there, or a module inside it."""
        key = ("exported", module.documents, module.folder, module.within, name)
        return self.guarded(key, lambda: self._find_exported(module, name))

    def _find_exported(self, module: Module, name: str) -> Value | None:
        for document in module.documents:
            facts = self.catalog.facts(document)
            top = [d for d in self.catalog.top(facts, name) if not module.within or d.container == module.within]
            if module.within:
                top += [d for d in facts.members.get(module.within, {}).get(name, ()) if d not in top]
            if top:
                return Value("definition", top[-1], tier="import")
            if one := facts.names.get(name):
                found = self.from_module(find_import(self.catalog, facts, one), one.name, facts)
                if found:
                    return found
            if bound := facts.bound(None, name):
                return self.bound_value(bound, facts, 1 << 62)
        if inside := find_module(self.catalog, module, name):
            return Value("module", module=inside, tier="import")
        for document in module.documents:
            facts = self.catalog.facts(document)
            self.catalog.ask(f"d:{facts.file.path}#*")  # also where there is none: there may be one tomorrow
            for wildcard in facts.wildcards:
                other = find_import(self.catalog, facts, wildcard)
                if other and (found := self.exported(other, name)):
                    return found
        return None
