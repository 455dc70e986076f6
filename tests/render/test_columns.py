from __future__ import annotations

from codelens.render.terminal import Columns, format_markdown_columns, format_plain_columns, render_columns

TABLE = Columns(("name", "x", "95 %"), (("a|b", "1", ".1 to .2"), ("long name", "10", "")), ("name", "x"), "Figures")


def test_plain_columns_are_aligned() -> None:
    assert "".join(format_plain_columns(TABLE)) == (
        "Figures\nname        x      95 %\na|b         1  .1 to .2\nlong name  10\n"
    )


def test_markdown_columns_escape_bars() -> None:
    assert "".join(format_markdown_columns(TABLE)) == (
        "**Figures**\n\n| name | x | 95 % |\n|---|---:|---:|\n| a\\|b | 1 | .1 to .2 |\n| long name | 10 |  |\n"
    )


def test_a_narrow_terminal_shows_the_essential_columns() -> None:
    wide, narrow = ("".join(render_columns(TABLE, width, False)) for width in (80, 20))
    assert ".1 to .2" in wide
    assert "95 %" not in narrow
    assert "long name" in narrow


def test_what_a_name_holds_cannot_control_the_terminal() -> None:
    shown = "".join(render_columns(Columns(("name",), (("\x1b[2Jx",),)), 80, False))
    assert "\x1b" not in shown
