"""JSON that is no list of objects: the command in the refusal runs, and makes a file that weft reads."""

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from helpers import processes

import weft
from weft.domains.recognising import recognise
from weft.errors import DataError

DAYS = ("Monday", "Tuesday", "Friday", "Sunday")
SENTENCES = [f"{DAYS[i % 4]} cup of tea, number {i}, was {('warm', 'cold')[i % 2]} today" for i in range(40)]


def feature(i: int, geometry: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": "Feature", "properties": {"height": i / 3}, "geometry": geometry}


def square(i: int) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": [[[i, 0], [i + 2, 0], [i + 2, 2], [i, 2]]]}


POINTS = [feature(i, {"type": "Point", "coordinates": [10 + i / 7, 50 - i / 9]}) for i in range(40)]
SHAPES = [*(feature(i, square(i)) for i in range(40)), feature(40, None)]
FORMS: dict[str, tuple[Any, str, str | None]] = {  # the value, a row that is written, and the task of what is written
    "points": ({"type": "FeatureCollection", "features": POINTS}, '"lon":10,"lat":50', "fit-field"),
    "shapes": ({"type": "FeatureCollection", "features": SHAPES}, '"lon":1,"lat":1', "fit-field"),
    "inside": ({"status": "ok", "result": {"all rows": [{"text": s, "label": i % 2} for i, s in enumerate(SENTENCES)]}},
               '"label":0', "classify-text"),
    "columns": ({"text": SENTENCES, "label": [i % 2 for i in range(40)]}, '"label":0', "classify-text"),
    "numbered": ({"text": dict(enumerate(SENTENCES)), "label": {i: i % 2 for i in range(40)},
                  "id": {i: i for i in range(40)}}, '"label":0', "classify-text"),
    "split": ({"columns": ["text", "label"], "data": [[s, i % 2] for i, s in enumerate(SENTENCES)]}, '"label":0',
              "classify-text"),
    "by-class": ({"warm": SENTENCES[::2], "cold": SENTENCES[3::2]}, '"label":"warm"', "classify-text"),
    "intents": ({"intents": [{"tag": t, "patterns": SENTENCES[k::3], "responses": ["ok"]}
                             for k, t in enumerate("abc")]},
                '"label":"a"', "classify-text"),
    "words": ({a + b + "ly": i % 5 - 2 for i, (a, b) in enumerate(product("abcdefghij", repeat=2))},
              '"text":"aaly","label":-2', "classify-text"),
    "named": ({f"Ann {i}": {"cups": i} for i in range(9)}, '"key":"Ann 0","cups":0', None),
    "lists": ([[s, i % 2] for i, s in enumerate(SENTENCES)], "\t0", "classify-text"),
    "texts": (SENTENCES, '{"text":"Monday cup', "language-model"),
    "coco": ({"images": [{"id": i, "file_name": f"{i}.jpg"} for i in range(9)],
              "annotations": [{"image_id": i, "category_id": 1, "bbox": [0, 0, 1, 1]} for i in range(9)],
              "categories": [{"id": 1, "name": "cup"}]}, '{"file_name":"0.jpg","label":"cup"}', None),
    "studio": ([{"id": i, "data": {"text": s}, "annotations": [{"result": [{"value": {"choices": [str(i % 2)]}}]}]}
                for i, s in enumerate(SENTENCES)], '"label":"0"', "classify-text"),
    "studio-spans": ([{"id": i, "data": {"text": s}, "annotations": [
        {"result": [{"value": {"start": 4, "end": 7, "text": "cup", "labels": ["THING"]}}]}]}
        for i, s in enumerate(SENTENCES)], '"B-THING"', "tag-text"),
    "spacy": ([[s, {"entities": [[4, 7, "THING"]]}] for s in SENTENCES], '"B-THING"', "tag-text"),
}  # fmt: skip


def remedy(path: Path) -> str:
    found = weft.check(path, plan=False).refused if path.read_text().startswith("[{") else None
    if found is None:
        with pytest.raises(DataError) as caught:
            recognise([str(path)])
        return caught.value.fix
    return found["fix"]


@pytest.mark.parametrize("name", FORMS)
def test_the_command_of_a_refusal_makes_a_file_that_is_read(tmp_path: Path, name: str):
    value, row, task = FORMS[name]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(value))
    command = remedy(path).partition(": ")[2]
    if command.startswith("jq") and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    processes.run(["sh", "-c", command], check=True, capture_output=True)
    (made,) = set(tmp_path.iterdir()) - {path}
    assert row in made.read_text()
    if task is not None:
        assert recognise([str(made)])[0].name == task


def test_json_without_rows_says_so_and_numbers_are_told(tmp_path: Path):
    for value, word in (({"name": "tea", "version": "1"}, "without rows"), ({"values": list(range(99))}, "numbers")):
        (tmp_path / "a.json").write_text(json.dumps(value))
        with pytest.raises(DataError, match=word) as caught:
            recognise([str(tmp_path / "a.json")])
        assert "--task language-model" in caught.value.fix


def test_a_map_of_shared_borders_names_its_own_command(tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps({"type": "Topology", "objects": {"land": {}}, "arcs": []}))
    with pytest.raises(DataError) as caught:
        recognise([str(tmp_path / "a.json")])
    assert "topo2geo land=" in caught.value.fix
