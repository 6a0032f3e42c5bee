"""Reading a Hugging Face folder of GPT-2 124M: time beside reading the file, memory beside the weights.

python bench/importing.py
"""

import json
import tempfile
from pathlib import Path

import torch
from race import Call, peak_memory, race
from report import Table, arguments, hand_in

from weft.interop import read_folder, write_folder
from weft.models.zoo import Size, gpt


def folder(place: Path, *, quick: bool) -> Path:
    """A folder of GPT-2's sizes with random weights."""
    size = Size(dim=64, depth=2, heads=2, context=64) if quick else Size(dim=768, depth=12, heads=12, context=1024)
    torch.manual_seed(0)
    write_folder(place, gpt(size, vocab=512 if quick else 50257).build())
    return place


def importing(place: str) -> Call:
    """The whole import."""
    return lambda: read_folder(place)


def reading(place: str) -> Call:
    """The bytes of the file, into memory."""
    return lambda: (Path(place) / "model.safetensors").read_bytes()


def measure(*, quick: bool = False) -> list[Table]:
    """Time and memory."""
    with tempfile.TemporaryDirectory() as scratch:
        place = str(folder(Path(scratch) / "model", quick=quick))
        assert json.loads((Path(place) / "config.json").read_text())["model_type"] == "gpt2"
        size = (Path(place) / "model.safetensors").stat().st_size / 2**20
        found = race(
            {"reading the file": reading(place), "import": importing(place)}, rounds=1 if quick else 7, least=0
        )
        plain = found["reading the file"]
        memory = {"reading the file": peak_memory(reading, place), "import": peak_memory(importing, place)}
        rows = [
            [name, t.best, t.median, t.median / plain.median, memory[name], memory[name] / size]
            for name, t in found.items()
        ]
    columns = ["what", "seconds, best", "median", "times reading", "MiB at most", "times the weights"]
    return [Table(f"A folder of {size:.0f} MiB", columns, rows)]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick), given.json)
