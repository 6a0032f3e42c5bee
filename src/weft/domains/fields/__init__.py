"""Fields.

cards        The task on fields
codec        a folder
dataset      Fields on a grid to learn from and later fields held out
encoded      a folder
forecast     forecast
forecasting  What is done with a model of fields
measures     a folder
output       Predicted fields as files to keep, as a few plain values, and in words
predictor    Fields predicted by a trained model
presets      The sizes of models of fields on a grid
reading      a folder
recipe       Models for fields
sample       An atmosphere that ships with weft
settings     Settings of trainings on fields on a grid in time
views        a folder
"""
