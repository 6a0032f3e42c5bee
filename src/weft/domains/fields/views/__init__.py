"""Views.

attention      What a place on the map read inside a model of fields
film           A forecast as an animation
maps           Maps of fields
place_reading  What a place read, in numbers and words
place_view     What a place read, drawn
series         Which fields are shown
sheets         Sheets of maps
skill          Skill by lead time
winds          Winds
"""
