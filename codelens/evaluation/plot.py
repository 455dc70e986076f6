"""Groups of a measurement → a picture: nDCG@10 of each repository and tier with its interval, the mean as a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codelens.errors import CannotWrite, UsageError

METRIC = "snDCG@10"
SPLITS = ("repo", "tier")
COLORS = {"repo": "#33658a", "tier": "#c8553d"}
GAP = 0.6
"""Rows between the repositories and the tiers."""
INK, PALE = "#333333", "#999999"


def drawing() -> Any:
    """matplotlib, without a window. Raises UsageError where it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--plot needs matplotlib", "pip install 'codelens[eval]'") from None
    return Figure


def plot(groups: Sequence[dict[str, Any]], path: Path, title: str) -> None:
    """`groups` as in the record; the kind of picture is the name's ending, as PNG or SVG. Raises CannotWrite, UsageError."""
    shown = [group for by in SPLITS for group in groups if group["by"] == by] or [g for g in groups if g["by"] == "all"]
    figure = drawing()(figsize=(7.5, 1.6 + 0.3 * len(shown)), layout="constrained")
    axes = figure.subplots()
    places = [
        place + GAP * SPLITS.index(group["by"]) if group["by"] in SPLITS else place for place, group in enumerate(shown)
    ]
    for place, group in zip(places, shown, strict=True):
        _mark(axes, place, group)
    whole = next(group for group in groups if group["by"] == "all")["metrics"][METRIC]["mean"]
    axes.axvline(whole, color=PALE, linewidth=1, linestyle="--", zorder=0)
    axes.annotate(f"all {whole:.3f}", (whole, 1), xycoords=("data", "axes fraction"), xytext=(4, 3), textcoords="offset points",
                  color=INK, fontsize=9)  # fmt: skip
    _dress(axes, shown, places, title)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    try:
        figure.savefig(path, dpi=150)
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a file in a folder that there is") from None
    except ValueError as fault:
        raise UsageError(f"--plot {path}: {fault}", "name a file that ends in .png or .svg") from None


def _mark(axes: Any, place: float, group: dict[str, Any]) -> None:
    found, color = group["metrics"][METRIC], COLORS.get(group["by"], INK)
    if "low" in found:
        axes.plot(
            [found["low"], found["high"]], [place, place], color=color, linewidth=2, alpha=0.45, solid_capstyle="butt"
        )
    axes.plot(found["mean"], place, "o", color=color, markersize=6)


def _dress(axes: Any, shown: Sequence[dict[str, Any]], places: Sequence[float], title: str) -> None:
    labels = [f"{'tier ' * (group['by'] == 'tier')}{group['name']} ({group['n']})" for group in shown]
    axes.set_yticks(places, labels, parse_math=False)
    for label, group in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_color(COLORS.get(group["by"], INK))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("nDCG@10, strict; bars are 95 % intervals (bootstrap over tasks)", color=INK)
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=20, parse_math=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
