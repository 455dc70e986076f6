"""Templates → HTML. They escape whatever is put into them; only `highlight` hands over markup of its own."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from codelens.render.visible import for_terminal
from codelens.server.http.faults import Fault


def address(place: str, /, **parameters: Any) -> str:
    """A path with parameters; a list is one that is repeated, and what is empty is left out."""
    given = {name: value for name, value in parameters.items() if value not in (None, "", [], 0, False)}
    return f"{place}?{urlencode(given, doseq=True, errors='replace')}" if given else place


class Asked(dict[str, Any]):
    """The parameters of an address; those that are not there are empty."""

    def __missing__(self, name: str) -> str:
        return ""


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("codelens.server.http"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = for_terminal
    made.globals["address"] = address
    return made


def page(template: str, **values: Any) -> str:
    """A whole page, or a part of one."""
    values = {"title": "codelens"} | values | {"asked": Asked(values.get("asked", {}))}
    text = _templates().get_template(template).render(values)
    return text.encode("utf-8", "replace").decode()


def fault_page(fault: Fault) -> str:
    """What is said to a browser where there is no answer."""
    return page("fault.html", fault=fault)
