"""The tasks in plain words, a file for each domain, which ends with the tuple of its `CARDS`."""
