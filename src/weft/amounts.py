"""Amounts as people read and write them: times, counts and sizes at a glance; dates and degrees."""

from datetime import UTC, datetime

DEGREES = {"lat": 90.0, "lon": 540.0}  # the most to either side, by axis; some grids go on past 360


def duration(seconds: float) -> str:
    """Seconds as people say them: 42 s, 3 min 20 s, 2 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: float) -> str:
    """A number people can read at a glance: 950, 12.3 k, 4.56 M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.0f}"


def counted(number: float, unit: str) -> str:
    """A number of things, which are one or several: 1 step, 1,200 steps, 0.5 epochs."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {unit}" if number == 1 else f"{shown} {unit}s"


def amount(size: int) -> str:
    """A number of bytes: 950 bytes, 12.3 kB, 4.56 MB."""
    return f"{count(size)}B" if size >= 1000 else f"{size} bytes"


def day(text: str) -> float | None:
    """Days since 1970 of a date, or of a date and a time of day, in UTC where nothing else is said; None: no date."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp() / 86_400


def beyond_globe(axis: str, value: float) -> str | None:
    """What is wrong with a coordinate, if its axis is `lat` or `lon` and it is not on the globe."""
    most = DEGREES.get(axis)
    if most is None or abs(value) <= most:
        return None
    name = "latitude" if axis == "lat" else "longitude"
    return f"a {name} of {value:g} degrees, expected from {-most:g} to {most:g}"
