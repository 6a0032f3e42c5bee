"""Reading.

grids   Grids and pictures
rows    Places with a value each
tables  Tables of places
"""
