"""Python processes beside this one: how they are started, how they are spoken to, and how they end with their parent.

`python` starts one, `worker` owns one and exchanges frames with it, `pool` shares some among callers; `child` is their own side.
"""
