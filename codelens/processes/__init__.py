"""Other Python processes: how we start them, talk to them, and end them with their parent.

`python` starts a process, `worker` owns one and exchanges frames with it, `pool` shares several among callers. `child`
is the code that runs inside the process.
"""
