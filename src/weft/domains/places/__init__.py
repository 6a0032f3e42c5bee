"""Places.

cards      The task on places
codec      a folder
dataset    Places with a value each to learn from and places held out
encoded    Places and their values as numbers and as samples
fit_field  fit-field
fitted     Runs that are fields
presets    The sizes of coordinate networks
rasters    Fields computed at many places
reading    a folder
recipe     Coordinate networks
sample     A picture that ships with weft
settings   Settings of trainings on values at places
views      a folder
"""
