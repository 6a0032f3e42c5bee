"""Fields on a grid, from netCDF and zarr files: where the cells are, when, what is measured there, and the values.

    find_stores -> check_store -> read_part -> joined -> scan (in a child) -> OpenedFields
    which files    may it be     axes, times,  several   missing, fillers,    read(start, stop), block by block
                   opened        variables     as one    infinite, constant

`Fields` always run from north to south, from longitude -180 eastwards and forward in time. `Convention` holds the
file's own names, order and directions, so that `write_fields` writes the same layout. Nothing outside of a file is
read: HDF5's external links and virtual datasets, zarr's pickles and links are refused before a library opens them. A
chunk that a zarr store lacks is named: its cells are missing where the fill value means missing, else the store is
refused. Values are looked through once in a process of its own, as a damaged file may crash its library. The
fingerprint does not depend on order, packing or chunks. No torch.

grid         the types: Grid, Times, Layer, Fields (values by time, read when they are asked for)
climatology  learns what is usual at each cell (a Climate) from the fields to train on
thinned      blocks of times spread over a long stretch
gaps         blocks of cells that are hidden to measure how gaps are filled
cells        coordinates as people write them, and the cells they fall into
recognising  whether files are fields, by their names
scanned      open_fields: a user's files, looked through once and then read as they are needed; fingerprint
opened       OpenedFields: opened files as fields, read block by block
measured     measured_fields: a file for a trained model, refused where its fields are others
writing      write_fields: values as a netCDF file or zarr store in the layout of the file they were made from
following    the times after the last field, in the calendar of its file

joining, contents, axes, calendars, values, units   what a file means: several as one, variables, axes, times, numbers
opening, hdf5_checks, zarr_checks                   which files a name stands for, and whether they may be opened
probe, scan                                         one look through all values, in a process of its own
remedies                                            what to do with a file in which nothing can be forecast
conventions, differences                            how a file is laid out; how two of them differ
"""
