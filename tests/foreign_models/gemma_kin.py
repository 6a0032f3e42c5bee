"""Gemma, GPT-NeoX and OPT."""

CASES: dict[str, tuple[str, dict]] = {}
