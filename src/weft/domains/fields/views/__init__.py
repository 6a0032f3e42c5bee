"""Fields and what a model read of them, drawn.

maps       one layer on its grid, as colours, with arrows of wind
series     which fields are shown, and what they are called
sheets     forecasts beside what came, filled gaps beside what was hidden
film       a forecast as an animation
skill      errors by lead time, beside simple forecasts
attention  what a place read inside a model: place_reading says it in numbers and words, place_view draws it
"""
