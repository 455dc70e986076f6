from __future__ import annotations

import pytest

from codelens.render.relations import quote_for_dot


@pytest.mark.parametrize(
    ("text", "in_dot"),
    [
        ("f", '"f"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("a\\N", '"a\\\\N"'),
        ('\\"', '"\\\\\\""'),
        ("two\nlines", '"two\\\\x0alines"'),
        ("\x1b[31m", '"\\\\x1b[31m"'),
        ("<b>", '"<b>"'),
        ("\udc80", '"\\\\udc80"'),
    ],
)
def test_a_name_in_graphviz_is_only_text(text: str, in_dot: str) -> None:
    assert quote_for_dot(text) == in_dot
