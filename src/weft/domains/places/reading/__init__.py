"""People's files become places with a value each. No torch.

rows    PlaceRows: what all files become, and which reader a file needs
tables  coordinates and a value in each row
grids   grids of numbers and pictures: every cell is a place
"""
