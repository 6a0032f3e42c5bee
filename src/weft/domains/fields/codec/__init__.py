"""Fields as differences from what is usual.

anomalies    FieldCodec: (value - climatology) / spread, and back; the climate of every cell is kept in the run folder
first_guess  the guess of hidden cells before any model: from other times at the place, from places nearby
"""
