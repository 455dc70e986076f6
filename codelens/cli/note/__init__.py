"""codelens note: notes and tasks beside the code, as files in the repository."""

from codelens.cli.declare import group

COMMANDS = {
    "add": "codelens.cli.note.add",
    "list": "codelens.cli.note.listing",
    "show": "codelens.cli.note.show",
    "edit": "codelens.cli.note.edit",
    "remove": "codelens.cli.note.remove",
}

command = group(
    "note",
    COMMANDS,
    help="Write down what is to be remembered or done, linked to places in the code that it follows.",
    epilog="Notes are Markdown files in .codelens/notes, for git to keep; `codelens search --kind note` finds them.",
)
