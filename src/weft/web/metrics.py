"""Counts of a server in the words of Prometheus: counters, gauges, and sums with counts."""

import threading
from collections import defaultdict

HELP = {
    "weft_requests_total": "Requests by route and status.",
    "weft_refused_total": "Requests refused because too much was waiting.",
    "weft_left_total": "Requests whose client left before the end.",
    "weft_tokens_total": "Tokens written.",
    "weft_prompt_tokens_total": "Tokens of prompts read.",
    "weft_queue": "Requests that wait.",
    "weft_working": "Requests in work.",
    "weft_rows": "Texts that are being written.",
    "weft_batch_rows": "Inputs computed together.",
    "weft_first_token_seconds": "Seconds from a request to its first token.",
    "weft_request_seconds": "Seconds of a request.",
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What is counted; safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, Labels], float] = defaultdict(float)
        self._values: dict[str, float] = {}
        self._sums: dict[str, list[float]] = {}

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += by

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name] = value

    def observe(self, name: str, value: float) -> None:
        """Add to a sum, and to the number of what it is of."""
        with self._lock:
            known = self._sums.setdefault(name, [0.0, 0])
            known[0] += value
            known[1] += 1

    def text(self) -> str:
        """All of it, as it is read by Prometheus."""
        with self._lock:
            lines = dict[str, list[str]]()
            for (name, labels), value in sorted(self._counts.items()):
                inside = ",".join(f'{key}="{word}"' for key, word in labels)
                lines.setdefault(name, [f"# TYPE {name} counter"]).append(
                    f"{name}{{{inside}}} {_shown(value)}" if inside else f"{name} {_shown(value)}"
                )
            for name, value in sorted(self._values.items()):
                lines[name] = [f"# TYPE {name} gauge", f"{name} {_shown(value)}"]
            for name, (total, number) in sorted(self._sums.items()):
                lines[name] = [
                    f"# TYPE {name} summary",
                    f"{name}_sum {_shown(total)}",
                    f"{name}_count {_shown(number)}",
                ]
        return "".join(
            "\n".join([f"# HELP {name} {HELP.get(name, name)}", *some]) + "\n" for name, some in lines.items()
        )


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
