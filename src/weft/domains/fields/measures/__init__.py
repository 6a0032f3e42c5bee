"""How good a model of fields is.

model          forecasts by lead and filled gaps of a model
scores         rmse, anomaly correlation, CRPS, bias, spread over skill, weighted by area
baselines      persistence, climatology and damped anomalies at every lead
linear_inverse patterns of a climate that move each other
gap_baselines  gaps filled without a model: by interpolation, by dineof, by the climatology
dineof         gaps filled by empirical orthogonal functions
"""
