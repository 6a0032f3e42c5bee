"""The definition of a token for each domain."""
