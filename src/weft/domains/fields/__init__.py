"""Fields: variables on a grid in time, from netCDF and zarr files.

A token is a block of cells of one layer at one time, or at all times of a window (`FieldEmbed`). A forecast, a gap, a
missing variable and a state between two times are one thing: cells of a `FieldWindow` that are not known.

    files -> OpenedFields (values by time)                           reading
          -> Climate (means, spreads, correlations of each cell)     reading/climatology, modalities/climate
          -> FieldCodec (anomalies; a first guess of hidden cells)   codec
          -> windows of history + ahead fields, some cells hidden    encoded
          -> FieldEmbed -> trunk -> mean and spread of each cell     modalities/field; scored by objectives/hidden_cells

Each hidden cell has a first guess with its uncertainty (`doubt`), from its own past and future and from cells nearby.
The head begins at zero and moves the guess in units of the doubt: an untrained model is the baseline. `Near` lets each
head begin with a neighbourhood of its own width; without it, attention between layers at one place was not learned in
1,700 steps. The split is by time.

cards        forecast in plain words
settings     of its training
presets      sizes of models
reading      files become Fields
dataset      fields to train on and later fields held out
codec        FieldCodec
encoded      windows with hidden cells
recipe       models that suit data and budget
measures     rmse, anomaly correlation, CRPS and gaps, beside baselines of a weather centre
views        maps, films, skill by lead, what a place read
sample       an atmosphere of travelling waves

forecast     forecasts fields and fills their gaps
forecasting  what is done with a model of fields
predictor    FieldPredictor: rolls forward, fills gaps, goes between two times
output       predicted fields as files, as plain values and in words
"""
