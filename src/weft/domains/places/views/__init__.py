"""Fitted fields, drawn.

pictures  the looks: the field around a place, the position code, errors, the field as it is learned
panels    values over a plane or a globe as panels; knows arrays alone
"""
