"""Sweeps and alignments over HTTP: the numbers of Python, and words for what cannot be asked."""

from typing import Any

import numpy as np
import pytest
from helpers.serving import Answered, Running, read_all, until

from weft.core.changes import Scaled
from weft.inspect.effects import ablation, effect, occlusion, patching
from weft.web.table import RunTable

PATH, TEXT = "/api/sweep/classify-text", "the soup was fine"


def test_grids_are_those_of_python(server: Running, table: RunTable):
    run = table["classify-text"].run
    made, other = run.study(TEXT), run.study("the soup was cold")
    for asked, known in (
        ({}, ablation(made)),
        ({"sweep": "heads", "by": "mean"}, ablation(made, by="mean")),
        ({"sweep": "tokens"}, occlusion(made)),
        ({"sweep": "patching", "other": "the soup was cold"}, patching(made, other)),
        ({"sweep": "patching", "part": "mix", "other": "the soup was cold"}, patching(made, other, part="mix")),
    ):
        found = server.post(PATH, {"input": TEXT, **asked}).json
        assert found["rows"] == list(known.rows) and found["columns"] == list(known.columns)
        assert np.allclose(np.array(found["measures"], float), known.measures, atol=1e-5, equal_nan=True)
        assert found["measured"] == known.measured and found["run"] == "classify-text"


def test_ranges_scale_and_steer(server: Running, table: RunTable):
    made = table["classify-text"].run.study(TEXT)
    change = {"type": "Scaled", "layer": 1, "branch": "mix", "factor": 1.0}
    found = server.post(PATH, {"input": TEXT, "sweep": "range", "change": change, "values": [0, 1, 2.5]}).json
    effects = [effect(made, Scaled(1, branch="mix", factor=value)) for value in (0.0, 1.0, 2.5)]
    assert [one["measure"] - found["before"] for one in found["rows"]] == pytest.approx(effects, abs=1e-5)
    assert effects[1] == 0 != effects[0] and found["rows"][1]["answers"] == found["answers"]
    steer = {"type": "Added", "layer": 1, "of": "other", "minus": "second"}
    asked = {"input": TEXT, "sweep": "range", "change": steer, "values": [0, 4], "other": "good", "second": "cold"}
    plain, steered = server.post(PATH, asked).json["rows"]
    assert plain["measure"] == pytest.approx(found["before"], abs=1e-5)
    assert abs(steered["measure"] - plain["measure"]) > 1e-4


@pytest.mark.parametrize(
    "more",
    [{"sweep": "x"}, {"by": "x"}, {"sweep": "patching"}, {"sweep": "changes"}, {"sweep": "changes", "rows": [1]},
     {"sweep": "range", "change": {"type": "Without", "layer": 1}, "values": [1]}, {"sweep": "range", "values": [1]},
     {"sweep": "range", "change": {"type": "Scaled", "layer": 1, "factor": 1}, "values": []},
     {"sweep": "range", "change": {"type": "Scaled", "layer": 1, "factor": 1}, "values": [1] * 1000},
     {"sweep": "changes", "rows": [[]] * 1000}, {"sweep": "changes", "rows": [[{"type": "Without", "layer": 99}]]},
     {"sweep": "changes", "rows": [[{"type": "Without", "layer": 1, "row": 1}]]}, {"head": "x"}, {"input": None},
     {"sweep": "changes", "rows": [[{"type": "Added", "layer": 1, "of": "/etc/passwd"}]]}, {"swep": 1}],
)  # fmt: skip
def test_what_is_no_sweep_is_refused_in_words(server: Running, more: dict[str, Any]):
    answer = server.post(PATH, {"input": TEXT, **more})
    assert answer.status == 400 and answer.json["error"]["message"] and len(answer.body) < 4096


def test_a_sweep_that_would_take_minutes_is_refused(server: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("weft.web.sweeps.MOST_WORK", 1.0)
    assert "minutes" in server.post(PATH, {"input": TEXT}).json["error"]["message"]
    assert server.post("/api/sweep/nobody", {"input": TEXT}).status == 404


def test_texts_go_on_beside_a_sweep_with_the_bits_that_they_have_alone(server: Running):
    ask = {"model": "language-model", "prompt": "Once", "max_tokens": 2000, "seed": 5, "stream": True}
    alone = server.post("/v1/completions", ask).events[:-1]
    rows = [[{"type": "Without", "layer": 1, "branch": "mix"}]] * 40
    with server.connected() as made:
        made.sendall(server.request("POST", "/v1/completions", ask, None))
        until(lambda: not server.state.engine.idle)
        swept = server.post("/api/sweep/language-model", {"input": "Once", "sweep": "changes", "rows": rows})
        said = Answered(read_all(made)).events[:-1]
    assert swept.status == 200 and text_of(said) == text_of(alone)


def text_of(events: list[Any]) -> str:
    return "".join(one["choices"][0]["text"] for one in events)


def test_translations_come_with_the_words_that_were_read(server: Running, table: RunTable):
    (pair,) = server.get("/languages").json
    asked = {"q": "The dog.", "target": pair["targets"][0], "alignment": True}
    found = server.post("/translate", asked).json
    read = found["alignment"]
    known = table["translate"].run.look("The dog.", target=found["translatedText"]).to_json()
    assert read == {"source": known["source_words"], "target": known["target_words"], "weights": known["weights"]}
    assert np.array(read["weights"]).shape == (len(read["target"]), len(read["source"]))
    many = server.post("/translate", {**asked, "q": ["The dog.", "The dog."]}).json["alignment"]
    assert many == [read, read] and "alignment" not in server.post("/translate", {**asked, "alignment": False}).json
