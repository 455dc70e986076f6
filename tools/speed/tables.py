"""Figures → a table, ratios of two results, and pictures of growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.speed.measure import Figures, TreeFigures
from tools.speed.questions import SHAPES

DASH = "–"
HEAD = (
    *("tool", "index s (CPU s)", "peak MB", "index ÷ source", "no-op s (CPU s)", "ten files s (CPU s)"),
    *(f"{' · '.join(SHAPES)}, ms (CPU) as a process", "warm, ms", "warm p50 / p95, ms"),
)


def table(measured: TreeFigures) -> Iterator[str]:
    """Markdown of one tree, and what is not in it."""
    indexed = f"{measured['files']} files of {measured['source_mb']:.1f} MB are indexed"
    yield f"{measured['name']}: {measured['tree_mb']:.1f} MB, of which {indexed}"
    yield ""
    rows = [HEAD, *(_row(name, tool) for name, tool in measured["tools"].items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        yield "| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) + " |"
        if number == 0:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    own: Figures = measured["tools"]["codelens"]["figures"]
    yield ""
    yield f"codelens --version: {_number(own.get('version_cpu_ms'), 1)} ms CPU; {_serve(own)}"
    yield from (f"{name}: {tool['note']}" for name, tool in measured["tools"].items() if tool["note"])
    yield from (f"not installed: {name} ({how})" for name, how in measured["not_installed"].items())


def _serve(own: Figures) -> str:
    told = f"{_number(own['serve_p95_ms'] / 1000, 2)} s" if "serve_p95_ms" in own else "not installed"
    return f"codelens serve, 40 questions at once, p95: {told}"


def _row(name: str, tool: Mapping[str, Any]) -> tuple[str, ...]:
    figures: Figures = tool["figures"]

    def cell(what: str, digits: int = 2) -> str:
        return _number(figures.get(what), digits)

    def shapes(pattern: str, digits: int) -> str:
        cells = [cell(pattern.format(shape), digits) for shape in SHAPES]
        return "" if set(cells) == {DASH} else " · ".join(cells)

    def both(what: str) -> str:
        return f"{cell(f'{what}_s')} ({cell(f'{what}_cpu_s')})" if f"{what}_s" in figures else ""

    process = shapes("{}_ms", 0)
    return (
        f"{name} {_short(tool['version'])}".strip(),
        both("index"),
        cell("peak_mb", 0) if "peak_mb" in figures else "",
        cell("index_ratio") if "index_ratio" in figures else "",
        both("no_op"),
        both("ten_files"),
        f"{process} ({shapes('{}_cpu_ms', 0)})" if process else "",
        shapes("warm_{}_ms", 1),
        f"{cell('warm_p50_ms', 1)} / {cell('warm_p95_ms', 1)}" if "warm_p50_ms" in figures else "",
    )


def _short(version: str) -> str:
    """The number in what a tool says of its version."""
    return next((word.rstrip(",") for word in version.split() if word[:1].isdigit()), "")


def _number(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:,.{digits + (0 < value < 0.1)}f}"


def comparison(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """A line for each figure that both results have: before, after, and after ÷ before."""
    for result in (before, after):
        machine = result["machine"]
        where = f"{machine['processor']}, {machine['cores']} cores, loop {machine['loop_s']} s"
        yield f"{result['commit'][:10]} {result['date']} {where}"
    there = {tree["name"]: tree["tools"] for tree in before["trees"]}
    for tree in after["trees"]:
        for name, tool in tree["tools"].items():
            old: Figures = there.get(tree["name"], {}).get(name, {}).get("figures", {})
            for what, value in tool["figures"].items():
                if old.get(what):
                    yield f"{tree['name']}  {name:<15}  {what:<18} {old[what]:>10.2f} {value:>10.2f} {value / old[what]:>6.2f} ×"


PICTURED = {
    "index_s": "index, s",
    "index_mb": "index, MB",
    "peak_mb": "peak memory, MB",
    "warm_p50_ms": "warm search, ms",
}


def draw_growth(trees: Sequence[TreeFigures], picture: Path) -> None:
    """Four plots over the size of the tree, a line for each tool. The ending of `picture` names the format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    for axes, (what, label) in zip(figure.subplots(2, 2).flat, PICTURED.items(), strict=True):
        for tool in trees[0]["tools"]:
            rows = [(tree["tree_mb"], tree["tools"].get(tool, {}).get("figures", {}).get(what)) for tree in trees]
            points = [(size, value) for size, value in rows if value is not None]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=tool)
        axes.set_xlabel("MB in the tree")
        axes.set_title(label, loc="left", fontsize=10)
        axes.set_ylim(bottom=0)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(picture, dpi=150)
