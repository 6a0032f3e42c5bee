"""Reading.

axes         The axes of a file
calendars    When the fields of a file are
cells        Places on a grid
climatology  Learning a Climate from fields, in two passes over the training times, block by block
contents     One file of fields, understood
conventions  How a file lays out its fields
differences  Tables of what differs between two files, or between a file and what a model was trained on
following    The times that follow the last field of a file
gaps         Which cells are hidden to measure how gaps are filled
grid         Grid, Times, Layer and Fields
hdf5_checks  Whether an HDF5 file (netCDF 4) stays within itself
joining      Several files as one
measured     A user's file for a trained model
opened       Opened files as fields
opening      Opening files of fields
probe        Files looked through in a process of their own, so that one which crashes a library ends that process alone
recognising  Whether files are fields on a grid
scan         One look through all values of some fields
scanned      Opening a user's fields
thinned      Fields thinned out
units        Units as files write them, in one spelling, so that "m/s" and "m s**-1" are the same
values       Stored numbers as values
writing      Writing fields to netCDF files and zarr stores, laid out as the file that they were made from
zarr_checks  Whether a zarr store is whole and stays within itself
"""
