"""Fields on a grid, from netCDF and zarr files: where the cells are, when, what is measured there, and the values.

grid       the types: Grid, Times, Layer, Fields (values by time, read when they are asked for)
climatology learns what is usual at each cell (a Climate) from the fields to train on
thinned    blocks of times spread over a long stretch
gaps       blocks of cells that are hidden to measure how gaps are filled
places     coordinates as people write them, and the cells they fall into
scanned    open_fields: a user's files, looked through once and then read as they are needed; fingerprint
measured   measured_fields: a file for a trained model, refused where its fields are others
writing    write_fields: values as a netCDF file or zarr store in the layout of the file they were made from
following  the times after the last field, in the calendar of its file

joining, parts, axes, calendars, values, units   what a file means: several as one, its variables, axes, times and numbers
formats, opening, hdf5_checks, zarr_checks       which files hold fields, and whether they may be opened
probe, scan                                      one look through all values, in a process of its own
conventions, differences                         how a file is laid out; how two of them differ
"""
