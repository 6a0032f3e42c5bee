"""Amounts in words: times, counts and sizes as people read them at a glance."""


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


def amount(size: int) -> str:
    """A number of bytes: 950 bytes, 12.3 kB, 4.56 MB."""
    return f"{count(size)}B" if size >= 1000 else f"{size} bytes"
