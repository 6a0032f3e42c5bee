"""Tasks: what a user can ask for. The registry lists them in plain words; each is a file of its own."""
