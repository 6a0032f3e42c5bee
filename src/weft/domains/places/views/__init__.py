"""Views.

panels    Fields as pictures
pictures  Looks into fields
"""
