"""Notes, tasks and skills as files, with links to places in the code."""
