"""Other Python processes: how we start them, talk to them, and end them with their parent.

`python` starts a process, `pool` shares several among callers, and `child` is the code that runs inside of each.
"""
