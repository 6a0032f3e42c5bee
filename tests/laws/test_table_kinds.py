"""What is judged sure is read: every kind of table, in every ending that tables have."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weft.domains.recognising import recognise
from weft.tasks.settings.limits import with_settings

Rows = list[dict[str, Any]]
SMILES = ("CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "C1CCCCC1", "CC#N", "OC(=O)c1ccccc1", "CC(C)O", "C=CC")


def lines(rows: Rows, separator: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def workbook(rows: Rows) -> bytes:
    book, data = pytest.importorskip("openpyxl").Workbook(), io.BytesIO()
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.save(data)
    return data.getvalue()


def parquet(rows: Rows) -> bytes:
    data = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), data)
    return data.getvalue()


ENDINGS: dict[str, Callable[[Rows], bytes]] = {
    ".csv": lambda rows: lines(rows, ","),
    ".tsv": lambda rows: lines(rows, "\t"),
    ".csv.gz": lambda rows: gzip.compress(lines(rows, ";")),
    ".jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    ".json": lambda rows: json.dumps(rows).encode(),
    ".xlsx": workbook,
    ".parquet": parquet,
}
KINDS: dict[str, tuple[str, list[Rows]]] = {
    "texts": ("classify-text", [[{"text": f"a tea of {i} cups", "label": "ab"[i % 2]} for i in range(20)]]),
    "pairs": ("translate", [[{"en": f"the house {i}", "fr": f"la maison {i}"} for i in range(20)]]),
    "molecules": ("graph", [[{"smiles": "C" * (i // 10) + SMILES[i % 10], "label": "ab"[i % 2]} for i in range(20)]]),
    "solubility": ("graph", [[{"id": f"m{i}", "exp": i + 0.37, "smiles": SMILES[i % 10]} for i in range(20)]]),
    "edges and nodes": (
        "graph",
        [
            [{"source": f"n{i}", "target": f"n{(i + 1) % 20}"} for i in range(20)],
            [{"id": f"n{i}", "height": i + 0.5, "label": "ab"[i % 2]} for i in range(20)],
        ],
    ),
    "pictures": ("classify-images", [[{"file": f"{i}.png", "label": "ab"[i % 2]} for i in range(20)]]),
    "captions": ("caption", [[{"file": f"{i}.png", "caption": f"a dog number {i} runs"} for i in range(20)]]),
    "questions": (
        "answer",
        [[{"image": f"{i}.png", "question": f"is it {i}?", "answer": ("yes", "no")[i % 2]} for i in range(20)]],
    ),
    "places": ("fit-field", [[{"lat": i * 1.5, "lon": i * 2.5, "value": i * 0.25} for i in range(20)]]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tables")
    for i in range(20):
        Image.fromarray(np.random.default_rng(i).integers(0, 255, (8, 8, 3), np.uint8)).save(root / f"{i}.png")
    return root


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_recognised_and_read_whatever_its_ending(kind: str, ending: str, folder: Path):
    task, tables = KINDS[kind]
    paths = [folder / f"{kind.replace(' ', '-')}-{place}{ending}" for place in range(len(tables))]
    for path, rows in zip(paths, tables, strict=True):
        path.write_bytes(ENDINGS[ending](rows))
    card, _ = recognise([str(path) for path in paths])
    assert card.name == task
    data = card.reader.read([str(path) for path in paths], None, with_settings(card.training(), {}))
    assert data.fingerprint and sum(data.amounts.values()) > 0
