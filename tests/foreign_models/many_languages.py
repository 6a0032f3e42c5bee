"""mBART, M2M100 and mT5."""

CASES: dict[str, tuple[str, dict]] = {}
