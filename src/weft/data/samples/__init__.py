"""Data that ships with weft or comes with every Python: one kind of data a file."""
