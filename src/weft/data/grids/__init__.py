"""Fields on a grid, from netCDF and zarr files: where the cells are, when, what is measured there, and the values.

grid          the types: Grid, Times, Layer, Fields (values by time, read when they are asked for)
climatology   learns what is usual at each cell (a Climate) from the fields to train on
"""
