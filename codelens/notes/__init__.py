"""Notes, tasks and skills as files, and the places in the code that they are linked to."""
