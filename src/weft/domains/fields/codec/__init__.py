"""Codec.

anomalies    FieldCodec
first_guess  The first guess of hidden cells, before any model
"""
