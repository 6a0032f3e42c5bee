"""Places: values at coordinates, learned as a function of the coordinates.

A token is one place, and a stream of one token reads no other: the trunk has blocks without a mixer (`Layer`, with the
starts `SineInit` and `ReluInit`). A table, a grid and a picture all become `PlaceRows`. The position code turns
coordinates into vectors. A sample is a handful of 64 places, so that a look at held-out data is of thousands.

cards      fit-field in plain words
settings   of its training
presets    sizes of coordinate networks
reading    tables, grids and pictures become places
dataset    places to train on and places held out
codec      coordinates, and colours as values
encoded    places and values as numbers and as samples
recipe     networks that suit a budget, and the code that suits the places
views      the field around a place, the position code, the errors
sample     a woven picture drawn from formulas

fit_field  learns the function
fitted     what is done with one: values at places, tables, pictures, measures beside baselines
rasters    values over many cells. Places are computed side by side, one thread each: products over several threads wait
           for each other, for long on a busy machine
"""
