"""Measures.

baselines      What a model of fields is measured against
dineof         DINEOF
gap_baselines  Gaps filled without a model
interpolation  Fields completed without learning
model          How good a model of fields is
scores         How good forecasts of fields are
table          All baselines of held-out fields at once
"""
