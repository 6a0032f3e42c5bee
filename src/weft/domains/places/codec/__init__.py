"""Coordinates and colours to numbers and back. Other values are numbers or classes (`tasks/labels`).

coordinates  PlaceCodec: coordinates as people write them
colours      ColourCodec: from -1 (black) to 1
"""
