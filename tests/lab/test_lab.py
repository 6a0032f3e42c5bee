"""The lectures' claims as experiments: every one runs, is short, uses public parts alone, and is judged by its rule."""

import ast
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.json_text import read_json
from weft.lab import pages
from weft.lab.experiment import CLAIMS, Claim, Experiment, SeedOutcome, experiment
from weft.lab.report import report
from weft.lab.running import Result, run, settings_for
from weft.lab.verdict import interval, judged

CLAIM_FILES = Path(__file__).parents[2] / "src/weft/lab/claims"
PUBLIC = {
    "weft.config", "weft.core", "weft.domains.texts.exposure", "weft.errors", "weft.generate.sampling",
    "weft.lab.exercise", "weft.lab.experiment", "weft.modalities.image", "weft.modalities.text", "weft.models",
    "weft.position", "weft.runs", "weft.runs.soup", "weft.tokens",
}  # fmt: skip
LIGHT = {
    "scale": {"steps": "3", "dim": "16"},
    "temperature": {},
    "order": {},
    "heads": {"steps": "3"},
    "square": {"lengths": "64,128", "radius": "16", "rounds": "1"},
    "distance": {"steps": "2", "lengths": "4,8"},
    "longer": {"steps": "2", "lengths": "8,12"},
    "shots": {"steps": "2"},
    "missing": {"steps": "2"},
}  # settings that take a second at most
HEAVY = {
    "fourier": {"steps": "3,6"},
    "data": {"amounts": "20,40", "steps": "3"},
    "pretraining": {"first_steps": "3", "steps": "2", "amounts": "2000,4000"},
    "norms": {"steps": "3"},
    "memorise": {"steps": "3", "letters": "20000", "copies": "1,2", "people": "1"},
    "soup": {"steps": "3", "rates": "1e-3", "draws": "2"},
}  # those that train runs


@pytest.mark.parametrize("name", CLAIMS)
def test_an_experiment_is_short_and_imports_public_parts_alone(name: str) -> None:
    text = (CLAIM_FILES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    found = {
        part
        for node in ast.walk(ast.parse(text))
        for part in ([node.module] if isinstance(node, ast.ImportFrom) else
                     [one.name for one in node.names] if isinstance(node, ast.Import) else [])
        if part and part.split(".")[0] == "weft"
    }  # fmt: skip
    assert found <= PUBLIC


def test_every_claim_has_its_own_id_and_all_fifteen_are_there() -> None:
    claims = [experiment(name).claim for name in CLAIMS]
    assert [claim.id for claim in claims] == [f"D{n}" for n in range(1, 16)]
    assert [claim.name for claim in claims] == list(CLAIMS)
    assert experiment("d4").claim.name == "heads"
    assert set(LIGHT) | set(HEAVY) == set(CLAIMS)


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that refuses to be measured."""

    def measured(*_: object) -> float:
        raise AssertionError("the numbers of an experiment depend on a measurement of the machine")

    for part in ("training.precision.bf16_speedup", "training.precision.product_rate", "tasks.sizing.product_rate"):
        monkeypatch.setattr(f"weft.{part}", measured)


def _ran(name: str, words: dict[str, str]) -> Result:
    found = experiment(name)
    return run(found, settings_for(found, words, None), seeds=1)


def _check(result: Result) -> None:
    outcome = result.outcomes[0]
    assert math.isfinite(outcome.effect)
    assert outcome.lines and all(points for points in outcome.lines.values())
    assert all(math.isfinite(y) for points in outcome.lines.values() for _, y in points)
    page = pages.web_page(result).decode()
    assert "<svg" in page and result.command in page and "http:" not in page.split("<svg")[0]


@pytest.mark.parametrize("name", LIGHT)
def test_a_light_experiment_gives_an_effect_a_figure_and_a_page(name: str) -> None:
    _check(_ran(name, LIGHT[name]))


@pytest.mark.slow
@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("name", HEAVY)
def test_an_experiment_that_trains_runs_gives_the_same(name: str) -> None:
    _check(_ran(name, HEAVY[name]))


@pytest.mark.usefixtures("unmeasured")
def test_the_same_seed_gives_the_same_number_whatever_a_measurement_of_the_machine_says() -> None:
    assert _ran("norms", {"steps": "1"}).outcomes[0].effect == _ran("norms", {"steps": "1"}).outcomes[0].effect


def test_every_experiment_that_trains_runs_fixes_its_precision() -> None:
    training = {name for name in CLAIMS if "train(" in (CLAIM_FILES / f"{name}.py").read_text(encoding="utf-8")}
    assert training == set(HEAVY)
    assert all(experiment(name).Settings().to_json()["precision"] == "fp32" for name in training)


@pytest.mark.parametrize("name", ["temperature", "order"])
def test_claims_about_arithmetic_hold(name: str) -> None:
    found = experiment(name)
    assert run(found, found.Settings(), seeds=3).verdict.word == "holds"


@pytest.mark.parametrize(
    ("effects", "word"),
    [((0.3, 0.31, 0.32), "holds"), ((-0.3, -0.31, -0.32), "does not hold"), ((0.3, -0.3, 0.31), "not decided"),
     ((0.3,), "not decided")],
)  # fmt: skip
def test_the_verdict_follows_the_interval(effects: tuple[float, ...], word: str) -> None:
    assert judged(experiment("heads").claim, effects).word == word


def test_the_interval_is_students() -> None:
    mean, low, high = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert high - mean == pytest.approx(4.303 / math.sqrt(3)) == mean - low


class _Counted(Experiment):
    """Counts how often it measures."""

    claim = Claim(
        id="D0", name="counted", says="s", source="s", compared="c", effect="e", above=0, x="x", y="y", seconds=0
    )
    Settings = experiment("order").Settings

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def measure(self, how: object, seed: int) -> SeedOutcome:
        self.seeds.append(seed)
        return SeedOutcome(effect=float(seed), lines={"a": [(1.0, 2.0)]})


def test_seeds_that_are_kept_are_not_measured_again_unless_settings_differ(tmp_path: Path) -> None:
    kept, settings = tmp_path / "counted.json", _Counted.Settings()
    first = run(_Counted(), settings, seeds=2, kept=kept)
    again = _Counted()
    more = run(again, settings, seeds=3, kept=kept)
    assert again.seeds == [2] and more.outcomes[:2] == first.outcomes
    assert len(run(_Counted(), settings, kept=kept).outcomes) == 3  # nothing that was measured is thrown away
    other = _Counted()
    run(other, settings.replace(depth=1), seeds=1, kept=kept)
    assert other.seeds == [0]


def test_time_that_kept_seeds_took_is_counted(tmp_path: Path) -> None:
    kept, settings = tmp_path / "counted.json", _Counted.Settings()
    run(_Counted(), settings, seeds=2, kept=kept)
    text = kept.read_text()
    assert text.count('"seconds": ') == 2
    kept.write_text(re.sub(r'"seconds": [^\s,}]+', '"seconds": 30.0', text))
    assert run(_Counted(), settings, seeds=2, kept=kept).seconds == 60


def test_what_was_measured_in_another_way_is_measured_again(tmp_path: Path) -> None:
    kept, settings = tmp_path / "counted.json", _Counted.Settings()
    run(_Counted(), settings, seeds=2, kept=kept)
    other = _Counted()
    other.claim = replace(other.claim, effect="another measure")  # type: ignore[misc]
    run(other, settings, seeds=2, kept=kept)
    assert other.seeds == [0, 1]


def test_seeds_are_judged_in_disjoint_sets_of_the_usual_number() -> None:
    outcomes = [SeedOutcome(effect=e, lines={"a": [(1.0, 2.0)]}) for e in (1, 1.1, 1.2, -1, -1.1, -1.2, 5, -5, 1, 3)]
    result = Result(_Counted(), _Counted.Settings(), tuple(outcomes))
    assert result.sets == ("holds", "does not hold", "not decided")
    assert "holds in 1" in pages.repeated(result)
    assert Result(_Counted(), _Counted.Settings(), tuple(outcomes[:5])).sets == ()


def test_nothing_is_decided_where_one_set_of_seeds_says_the_opposite_of_another() -> None:
    apart = [
        SeedOutcome(effect=e, lines={"a": [(1.0, 2.0)]}) for e in (-1, -1.1, -1.2, *[50 + n / 100 for n in range(12)])
    ]
    result = Result(_Counted(), _Counted.Settings(), tuple(apart))
    assert judged(_Counted.claim, [one.effect for one in apart]).word == "holds"
    assert result.verdict.word == "not decided"


def test_seeds_begin_where_the_claim_says_and_the_command_repeats_others() -> None:
    later = _Counted()
    later.claim = replace(later.claim, first=100)  # type: ignore[misc]
    assert "--first" not in run(later, later.Settings(), seeds=2).command
    assert run(later, later.Settings(), seeds=1, first=7).command == "weft lab counted --seeds 1 --first 7"
    assert later.seeds == [100, 101, 7]


def test_a_recurrent_network_waits_for_each_token_and_a_transformer_does_not() -> None:
    facts = _ran("distance", {"steps": "1", "lengths": "4,8"}).outcomes[0].facts
    waits = {name: [facts[f"operations in a chain, {name}, {n} tokens"] for n in (4, 8)] for name in ("RNN", "LSTM")}
    assert all(longer > short + 4 for short, longer in waits.values())
    chains = {facts[f"operations in a chain, transformer, {n} tokens"] for n in (4, 8)}
    assert len(chains) == 1


def test_minutes_measure_two_seeds_at_least() -> None:
    counted = _Counted()
    run(counted, counted.Settings(), minutes=1e-9)
    assert counted.seeds == [0, 1]


def test_other_seeds_are_other_numbers() -> None:
    found = experiment("temperature")
    one, other = (run(found, found.Settings(), seeds=1, first=first).outcomes[0].effect for first in (0, 7))
    assert one != other


def test_the_command_repeats_the_settings() -> None:
    found = experiment("longer")
    settings = settings_for(found, {"lengths": "8,12", "steps": "2"}, None)
    assert run(found, settings, seeds=1).command == "weft lab longer --seeds 1 --set lengths=8,12 --set steps=2"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="no claim is called"):
        experiment("head")
    with pytest.raises(WeftError, match="makes its own data"):
        settings_for(experiment("heads"), {}, "book.txt")


def test_the_report_has_the_guide_a_table_and_a_chapter_for_each_claim() -> None:
    results = [_ran(name, LIGHT[name]) for name in ("temperature", "order")]
    text = report(results, "two cores", "lab")
    assert text.startswith("# The lectures' claims, tried\n") and "weft lab all -o report/" in text
    assert "| holds |" not in text  # one seed decides nothing
    assert text.count("| not decided |") == 2
    assert text.count("Not measured yet") == len(CLAIMS) - 2
    assert "## D2 temperature" in text and "(lab/order.png)" in text and "on two cores" in text
    assert read_json(__import__("json").dumps(pages.as_json(results[0])), where="")["verdict"] == "not decided"


def test_the_page_in_the_docs_is_the_report_with_this_guide() -> None:
    page = (Path(__file__).parents[2] / "docs/lab.md").read_text(encoding="utf-8")
    made = report([_ran("order", LIGHT["order"])], "two cores", "lab")
    assert page.split("## What was found")[0] == made.split("## What was found")[0]
    assert [f"## {experiment(name).claim.id} {name}" in page for name in CLAIMS] == [True] * len(CLAIMS)
