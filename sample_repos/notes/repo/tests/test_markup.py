from notes.markup import render_markdown


def render(text):
    return render_markdown(text, note_exists=lambda title: title == "Home")


def test_script_is_escaped():
    assert "<script>" not in render("<script>alert(1)</script>")


def test_javascript_link_is_text():
    assert "href" not in render("[click](javascript:alert(1))")


def test_link_to_missing_note_is_marked():
    assert 'class="missing"' in render("[[Nowhere]]")
    assert 'class="note"' in render("[[Home]]")
