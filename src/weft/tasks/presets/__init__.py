"""Presets: sizes that users choose by name, where recipes and cards read them. Numbers alone; imports no torch."""
