"""A replacement for `dataclasses.dataclass` that defines the same classes in a tenth of the time.

It makes searches start faster. A search in a new process defines 140 data classes; the standard decorator compiles six methods
for each and imports `inspect`, which adds 70 ms of CPU to a search of 150 ms. Here all classes share their methods, and
`__init__` and `__dataclass_fields__` are made when they are first used. Type checkers and the functions of `dataclasses`, such
as `fields` and `asdict`, see ordinary data classes. `field` and `replace` work like the standard ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, dataclass_transform

T = TypeVar("T")
MISSING: Any = object()


class FieldRule(NamedTuple):
    """The value of a field that `__init__` is not given."""

    default: Any = MISSING
    default_factory: Any = MISSING


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
else:
    field = FieldRule

    def dataclass(*, slots: bool, frozen: bool = False) -> Callable[[type], type]:
        """Make a data class, as dataclasses.dataclass does. It always has slots, which all classes of codelens ask for."""

        def define(cls: type) -> type:
            own = {}
            for name in cls.__annotations__:
                given = cls.__dict__.get(name, MISSING)
                if given.__class__.__hash__ is None:
                    raise ValueError(f"{cls.__name__}.{name}: a default that can change needs a default_factory")
                own[name] = given if isinstance(given, FieldRule) else FieldRule(given)
            rules = {n: r for base in cls.__mro__[:0:-1] for n, r in base.__dict__.get("field_rules", {}).items()} | own
            shared = {
                "__match_args__": tuple(rules),
                "__repr__": _repr,
                "__eq__": _eq,
                "__dataclass_params__": _FastParameters,
                "field_rules": rules,
                "field_values": staticmethod(attrgetter(*rules) if rules else lambda instance: ()),
            }
            if frozen:
                shared |= {"__setattr__": _refuse, "__delattr__": _refuse, "__reduce__": _reduce}
            left_out = {*own, "__dict__", "__weakref__"}
            shared |= {name: part for name, part in cls.__dict__.items() if name not in left_out}
            inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
            shared |= {
                "__hash__": _hash if frozen else None,
                "__slots__": tuple(n for n in rules if n not in inherited),
            }
            made = type(cls)(cls.__name__, cls.__bases__, shared)  # again, since slots cannot be added to a class
            made.__qualname__ = cls.__qualname__
            if "__init__" not in cls.__dict__:
                made.__init__ = _make_lazy_init(made, frozen)
            made.__dataclass_fields__ = _StandardFields(made)
            return made

        return define


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_dataclass(cls: type[T]) -> type[T]:
    """Make a data class with slots whose instances cannot be changed, as nearly all of codelens are."""
    define = dataclass(frozen=True, slots=True)
    return define(cls)


def replace(instance: T, /, **changes: Any) -> T:
    """Copy a data class instance with some fields changed."""
    cls: Any = type(instance)
    kept = {name: getattr(instance, name) for name in cls.field_rules if name not in changes}
    return cls(**kept, **changes)  # type: ignore[no-any-return]


def list_field_names(cls: type) -> tuple[str, ...]:
    """List the field names of a data class, in order."""
    return tuple(cls.field_rules)  # type: ignore[attr-defined]


class _FastParameters:
    """A stand-in for `__dataclass_params__`, which the standard decorator reads in subclasses of our classes."""

    frozen = False


class _StandardFields:
    """A descriptor that makes `__dataclass_fields__` when it is first read."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, instance: object, cls: type) -> Mapping[str, Any]:
        import dataclasses

        made: dict[str, Any] = {}
        types = {n: t for base in self._cls.__mro__[::-1] for n, t in getattr(base, "__annotations__", {}).items()}
        for name, rule in self._cls.field_rules.items():
            default = {} if rule.default is MISSING else {"default": rule.default}
            factory = {} if rule.default_factory is MISSING else {"default_factory": rule.default_factory}
            made[name] = standard = dataclasses.field(**default, **factory)
            standard.name, standard.type = name, types[name]
            standard._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
        self._cls.__dataclass_fields__ = made
        return made


def _make_lazy_init(cls: type, frozen: bool) -> Any:
    """Make an `__init__` that compiles the real one at the first call: a search instantiates only a third of its classes."""

    def compile_then_init(self: Any, *values: Any, **named: Any) -> None:
        cls.__init__ = compiled = _compile_init(cls, frozen)  # type: ignore[misc]
        compiled(self, *values, **named)

    return compile_then_init


def _compile_init(cls: Any, frozen: bool) -> Any:
    """Compile an `__init__` with a parameter for each field, in order."""
    names: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = ["self"], []
    for name, rule in cls.field_rules.items():
        value = name
        if rule.default_factory is not MISSING:
            names[f"make_{name}"] = rule.default_factory
            parameters.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif rule.default is not MISSING:
            names[f"default_{name}"] = rule.default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        if frozen:  # by its slot, which is a third faster than object.__setattr__
            names[f"put_{name}"] = getattr(cls, name).__set__
            lines.append(f" put_{name}(self, {value})")
        else:
            lines.append(f" self.{name} = {value}")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), names)
    return names["__init__"]


def _eq(self: Any, other: Any) -> Any:
    return self.field_values(self) == other.field_values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.field_values(self))


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.field_rules)
    return f"{self.__class__.__qualname__}({values})"


def _refuse(self: Any, name: str, *value: Any) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    """Pickle an instance as its class and arguments, which takes half the time of a state with field names."""
    return self.__class__, tuple(getattr(self, name) for name in self.field_rules)
