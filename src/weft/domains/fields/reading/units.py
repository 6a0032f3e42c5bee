"""Units as files write them, in one spelling, so that "m/s" and "m s**-1" are the same. Converts no values."""

import re

ALIASES = {
    "c": "degc", "celsius": "degc", "degreesc": "degc", "degreec": "degc", "degreescelsius": "degc",
    "degreecelsius": "degc", "celsiusdegrees": "degc", "°c": "degc", "k": "k", "kelvin": "k", "degk": "k",
    "degreesk": "k", "kelvins": "k", "mb": "hpa", "mbar": "hpa", "millibar": "hpa", "millibars": "hpa",
    "hectopascal": "hpa", "hectopascals": "hpa", "pascal": "pa", "pascals": "pa", "percent": "%", "percentage": "%",
    "1": "", "none": "", "dimensionless": "", "unitless": "", "-": "", "metre": "m", "meter": "m", "metres": "m",
    "meters": "m", "gpm": "m", "sec": "s", "second": "s", "seconds": "s", "gram": "g", "grams": "g",
    "kilogram": "kg",
}  # fmt: skip


def spelt(units: str) -> str:
    """Units in one spelling: `m s**-1`, `m/s` and `M/S` are all `m s-1`."""
    text = units.strip().lower().replace("**", "").replace("^", "").replace("·", " ").replace("*", " ").replace("_", "")
    text = re.sub(r"\bper\b", "/", text)
    whole = re.sub(r"[\s.]+", "", text)
    if whole in ALIASES or whole.startswith("deg"):
        return ALIASES.get(whole, whole)
    over, *under = text.split("/")
    powers: dict[str, int] = {}
    for sign, part in ((1, over), *((-1, part) for part in under)):
        for name, power in re.findall(r"([a-z%°]+)\s*(-?\d+)?", part):
            name = ALIASES.get(name, name)
            powers[name] = powers.get(name, 0) + sign * int(power or 1)
    return " ".join(
        name if power == 1 else f"{name}{power}" for name, power in sorted(powers.items()) if name and power
    )


def same_units(one: str, other: str) -> bool:
    """Whether two files mean the same units."""
    return one == other or spelt(one) == spelt(other)
