"""/api/sweep/{run}: how the answer to an input changes with each of many changes of the model.

    heads, branches     each switched off, one at a time        layers x heads, layers x branches
    tokens              each hidden                              one row
    patching            each replaced by that of `other`         layers x tokens
    changes             what `rows` say, each a list of changes
    range               one `change` with each of some `values`: the factor of a Scaled, the strength of an Added

Rows and ranges tell the likeliest answers too. Changes may name `other` and `second`: inputs of the same request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from starlette.requests import Request
from starlette.responses import Response

from weft.config import Config
from weft.core.changes import Added, BranchName, Change, Scaled, changed, changes_from_json
from weft.core.recording import Recorder
from weft.generate.stopping import Stop
from weft.inspect.change_words import words_of
from weft.inspect.effects import Part, ablation, branch_ablation, occlusion, patching
from weft.inspect.study import Study
from weft.runs.asking import checked, study
from weft.tasks.asks import Given
from weft.web.bodies import JsonFields, changes_in, json_of, typed
from weft.web.jobs import CallJob, Cost
from weft.web.looks import inputs_in
from weft.web.predict import run_named
from weft.web.replies import GONE, Refusal, reply
from weft.web.sending import finished
from weft.web.state import state_of
from weft.web.table import ServedRun

SweepName = Literal["heads", "branches", "tokens", "patching", "changes", "range"]
MOST_ROWS, MOST_VALUES = 256, 64  # of one request
MOST_WORK = 2e12  # multiplications of all rows
AT_ONCE = 1024  # tokens of all rows that are computed between two looks at who waits
OTHERS = ("other", "second")  # inputs that changes may name


@dataclass(frozen=True)
class SweepAsked:
    """What a request asks for."""

    sweep: SweepName
    inputs: list[Given]
    others: Mapping[str, list[Given]]
    how: Config
    branch: BranchName
    by: Literal["zero", "mean"]
    part: Part
    head: int | None
    rows: list[tuple[Change, ...]]

    def told(self, served: ServedRun, stop: Stop) -> dict[str, Any]:
        """The sweep, computed."""

        def between() -> None:
            if stop():
                raise Refusal(GONE, "the client has gone")

        first = study(served.run, self.inputs, self.how)
        made = replace(first, between=between, at_once=AT_ONCE)
        self._check_work(made)
        others = {name: study(served.run, given, self.how) for name, given in self.others.items()}
        if self.sweep == "heads":
            return ablation(made, branch=self.branch, by=self.by).to_json()
        if self.sweep == "branches":
            return branch_ablation(made, by=self.by).to_json()
        if self.sweep == "tokens":
            return occlusion(made).to_json()
        if self.sweep == "patching":
            return patching(made, others["other"], part=self.part, head=self.head).to_json()
        return _rows(made, self.rows, {name: one.recorded() for name, one in others.items()})

    def _check_work(self, made: Study) -> None:
        tokens, layers = len(made.tokens.get(made.stream, ())), made.trunk.layers
        heads = max((getattr(getattr(block, self.branch), "heads", 0) for block in made.trunk.blocks), default=0)
        counts = {"heads": layers * heads, "branches": 3 * layers, "tokens": tokens, "patching": (layers + 1) * tokens}
        work = sum(one.numel() for one in made.trunk.parameters()) * tokens * counts.get(self.sweep, len(self.rows))
        if work > MOST_WORK:
            fix = "a shorter input, or fewer rows"
            raise Refusal(400, "for this model and input the sweep would take minutes", where="sweep", fix=fix)


async def sweep(request: Request) -> Response:
    """A sweep: the measure of the answer, before and with each change."""
    state = state_of(request)
    served = run_named(state, request.path_params["run"])
    fields = await json_of(request, state.limits)
    changes = changes_in(fields)
    asked = _asked(served, fields)
    cost = Cost(int(request.headers.get("content-length", "0")))
    call = CallJob(
        served, lambda stop: asked.told(served, stop), cost=cost, unsent=state.limits.unsent, changes=changes
    )
    state.engine.submit(call)
    told = await finished(request, call)
    return reply({"run": served.name, "task": served.run.task.name, "sweep": asked.sweep, **told})


def _asked(served: ServedRun, fields: JsonFields) -> SweepAsked:
    name: SweepName = _one_of(fields, "sweep", SweepName, "heads")
    inputs = inputs_in(served, fields, "input")
    others = {other: given for other in OTHERS if (given := inputs_in(served, fields, other))}
    branch: BranchName = _one_of(fields, "branch", BranchName, "mix")
    by: Literal["zero", "mean"] = _one_of(fields, "by", Literal["zero", "mean"], "zero")
    part: Part = _one_of(fields, "part", Part, "stream")
    head, settings = fields.maybe("head", int), fields.take("settings", dict, {})
    said, change, values = fields.take("rows", list, []), fields.any("change"), fields.take("values", list, [])
    fields.end()
    rows = [_changes(row, others, f"rows.{number}") for number, row in enumerate(said)]
    if name == "range":
        rows = _range(_changes([change], others, "change")[0], values)
    if not inputs:
        raise Refusal(400, "expected an input", where="input")
    if name == "patching" and "other" not in others:
        raise Refusal(400, "expected another input", where="other")
    if name in ("changes", "range") and not 1 <= len(rows) <= MOST_ROWS:
        raise Refusal(400, f"expected from 1 to {MOST_ROWS} rows", where="rows")
    how = checked(served.run, "look", settings, files=False)
    return SweepAsked(name, inputs, others, how, branch, by, part, head, rows)


def _one_of(fields: JsonFields, name: str, kinds: Any, usual: str) -> Any:
    value = fields.take(name, str, usual)
    if value not in get_args(kinds):
        raise Refusal(400, f"expected one of {', '.join(get_args(kinds))}", where=name)
    return value


def _changes(value: Any, others: Mapping[str, list[Given]], where: str) -> tuple[Change, ...]:
    """Changes of one row; they may name the other inputs of the request."""
    found = changes_from_json(typed(value, list, where), where=where)
    named = {said for one in found for key in ("of", "minus") if (said := getattr(one, key, None)) is not None}
    if not named <= set(others):
        raise Refusal(400, "a change names an input that is not in the request", where=where, fix="send it as `other`")
    if any(one.row is not None for one in found):
        raise Refusal(400, "each row has its own list of changes", where=where, fix="leave out row")
    return found


def _range(change: Change, values: Sequence[Any]) -> list[tuple[Change, ...]]:
    if not 1 <= len(values) <= MOST_VALUES:
        raise Refusal(400, f"expected from 1 to {MOST_VALUES} numbers", where="values")
    if not isinstance(change, Scaled | Added):
        raise Refusal(400, "expected a Scaled or an Added", where="change")
    name = "factor" if isinstance(change, Scaled) else "strength"
    return [(change.replace(**{name: typed(value, float, "values")}),) for value in values]


@torch.no_grad()
def _rows(made: Study, rows: Sequence[tuple[Change, ...]], given: Mapping[str, Recorder]) -> dict[str, Any]:
    with changed(made.model, given=given):
        values = made.values([(), *rows])
    before, *found = made.measure(values).cpu().double().tolist()

    def said(row: int) -> list[list[Any]]:
        return [list(one) for one in made.best(values[row])]

    told = [
        {"changes": [words_of(one) for one in row], "measure": measure, "answers": said(number + 1)}
        for number, (row, measure) in enumerate(zip(rows, found, strict=True))
    ]
    return {"measured": made.measured, "before": before, "answers": said(0), "rows": told}
