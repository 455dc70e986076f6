"""A git history → evaluation tasks: what commits, documentation, guides and names ask, and the trees to ask it of.

`making.make_tasks` tells the story; `python -m codelens.evaluation.made` runs it without the rest of the command line.
"""
