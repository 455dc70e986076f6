"""codelens model: the embeddings that make vectors here, and one of your own from your own code."""

from codelens.cli.declare import group

COMMANDS = {
    "info": "codelens.cli.model.about",
    "list": "codelens.cli.model.known",
    "use": "codelens.cli.model.use",
    "train": "codelens.cli.model.train",
    "eval": "codelens.cli.model.evaluate",
    "export": "codelens.cli.model.export",
}

command = group(
    "model",
    COMMANDS,
    help="Look at embeddings, choose one, or train one on your own code.",
    epilog="A model is `codelens` (the shipped one), `hashing` (none), the name of one of yours, or a file's path.",
)
