"""Data that ships with weft or comes with every Python: a file for each domain, and the grammars that they are drawn from."""
