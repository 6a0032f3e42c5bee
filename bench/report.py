"""Tables of results, for people and for `results.json`, and what is said of the machine. Knows no measurement."""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """Rows under columns; numbers are shown with three digits. `note` is a sentence below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def markdown(self) -> str:
        """The table as a person reads it, in a terminal or on a page."""
        cells = [list(self.columns), *([shown(value) for value in row] for row in self.rows)]
        wide = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)) + " |" for row in cells]
        rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(wide)) + "|"
        return "\n".join([f"### {self.title}\n", lines[0], rule, *lines[1:], *(["", self.note] if self.note else [])])


def shown(value: Any) -> str:
    """Three digits of a number, more only where they stand before the point; nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> dict[str, Any]:
    """Where and when the numbers were made."""
    import torch

    known = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(": ")[2] for line in known.splitlines() if line.startswith("model name")]
    units = [unit for unit in ("avx512_bf16", "amx_bf16") if f" {unit}" in known]
    return {
        "date": date.today().isoformat(),
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "bf16": ", ".join(units) or "no bf16 units",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that all scripts have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes and rounds: does it work? (numbers mean nothing)"
    )
    parser.add_argument("--bf16", action="store_true", help="run bf16 contestants even where bf16 does not pay")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the tables to a file")
    return parser


def with_bf16(forced: bool) -> tuple[bool, str]:
    """Whether bf16 contestants run, and the sentence that says so where they do not."""
    import torch

    from weft.training.precision import bf16_speedup, pick_precision

    cpu = torch.device("cpu")
    if forced or pick_precision("auto", cpu) is torch.bfloat16:
        return True, ""
    return (
        False,
        f"bf16 is left out: products in bf16 run at {bf16_speedup(cpu):.2g} of fp32's speed here "
        "(--bf16 runs it all the same).",
    )


def hand_in(tables: Sequence[Table], path: Path | None) -> None:
    """Print the tables, and write them where asked."""
    print("\n\n".join(table.markdown() for table in tables), flush=True)
    if path is not None:
        path.write_text(json.dumps([asdict(table) for table in tables]))
