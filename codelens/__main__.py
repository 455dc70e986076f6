"""`python -m codelens` is the `codelens` command, also where the script is not on the path."""

from codelens.cli.main import run

if __name__ == "__main__":
    run()
