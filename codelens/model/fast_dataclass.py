"""`dataclass` for modules that every search imports: the same classes, defined in a fifth of the time.

Why it is our own: start-up. A search in a new process defines 127 data classes, and the standard decorator compiles six
methods for each: importing a search takes 0.54 s of CPU with it, 0.45 s with this one (medians of five). Here all classes
share the methods, and `__init__` is compiled at the first call. Type checkers, `fields` and `replace` see ordinary data classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """Like dataclasses.dataclass, with the two options that codelens uses."""

        def define(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # or the standard one computes a signature
            defined = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
            shared = {
                "__init__": _init_when_needed(defined, frozen),
                "__eq__": _eq,
                "__hash__": _hash if frozen else None,
            }
            if frozen:
                shared |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _set_state}
            names = [field.name for field in dataclasses.fields(defined)]
            defined.noun_values = staticmethod(attrgetter(*names) if names else lambda noun: ())
            for name, method in ({"__repr__": _repr} | shared).items():
                if name not in cls.__dict__ or name == "__hash__":
                    setattr(defined, name, method)
            return defined

        return define


def _init_when_needed(cls: type, frozen: bool) -> Any:
    """An `__init__` that compiles the real one at the first call: a search creates objects of a third of the classes it
    imports."""

    def compile_first(self: Any, *values: Any, **named: Any) -> None:
        cls.__init__ = compiled = _init(cls, frozen)  # type: ignore[misc]
        compiled(self, *values, **named)

    return compile_first


def _init(cls: type, frozen: bool) -> Any:
    """The compiled `__init__`, with a parameter for each field in order."""
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING, "put": object.__setattr__}
    parameters, lines = ["self"], []
    for field in dataclasses.fields(cls):
        value = field.name
        if field.default_factory is not dataclasses.MISSING:
            names[f"make_{field.name}"] = field.default_factory
            parameters += [f"{field.name}=MISSING"] if field.init else []
            default = f"make_{field.name}()"
            value = f"{default} if {field.name} is MISSING else {field.name}" if field.init else default
        elif field.default is not dataclasses.MISSING:
            names[f"default_{field.name}"] = field.default
            parameters += [f"{field.name}=default_{field.name}"] if field.init else []
            value = field.name if field.init else f"default_{field.name}"
        elif field.init:
            parameters.append(field.name)
        lines.append(f" put(self, {field.name!r}, {value})" if frozen else f" self.{field.name} = {value}")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), names)
    return names["__init__"]


def _eq(self: Any, other: Any) -> Any:
    return self.noun_values(self) == other.noun_values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.noun_values(self))


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{self.__class__.__qualname__}({values})"


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _set_state(self: Any, state: Any) -> None:
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            object.__setattr__(self, name, value)
