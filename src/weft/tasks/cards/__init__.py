"""The tasks in plain words, one family a file; `weft.tasks.registry` lists them."""
