"""The laws of looking inside and changing, over every model of the zoo and all of its streams."""

from functools import cache
from typing import Any

import pytest
import torch
from helpers.tiny import close
from helpers.whole_zoo import ROWS, WHOLE_ZOO, Case, case

from weft.core import Added, Change, Hidden, Plain, PostNorm, Replaced, Scaled, Without, changed, record
from weft.core.changes import streams_of

ALL = ("readings", "states", "branches")
BRANCHES = ("mix", "read", "transform")


@pytest.fixture(params=WHOLE_ZOO)
def zoo(request: pytest.FixtureRequest) -> Case:
    return case(request.param)


@cache
def blocks(one: Case) -> list[tuple[str, int, Any]]:
    """Stream, layer and block of all that a pass goes through."""
    with record(one.model, ()) as recorder:
        one.all()
    trunks = streams_of(one.model)
    return [
        (stream, layer, trunks[stream].blocks[(layer - 1) % len(trunks[stream].blocks)])
        for stream, passes in recorder.passes.items()
        for layer in range(1, passes[0].layers + 1)
    ]


def parts(one: Case) -> list[dict[str, Any]]:
    """Every head and branch of every layer that a pass goes through."""
    found: list[dict[str, Any]] = []
    for stream, layer, block in blocks(one):
        for branch in BRANCHES:
            if (mixer := getattr(block, branch)) is not None:
                at = {"layer": layer, "branch": branch, "stream": stream}
                found += [at, *({**at, "head": head + 1} for head in range(getattr(mixer, "heads", 0)))]
    return found


def test_keeping_all_that_happens_inside_changes_no_bit(zoo: Case):
    plain = zoo.all()
    with record(zoo.model, ALL) as recorder:
        assert torch.equal(zoo.all(), plain)
    for stream, (kept,) in recorder.passes.items():
        trunk = streams_of(zoo.model)[stream]
        depth = trunk.passes * len(trunk.blocks)
        assert [len(kept.states), len(kept.branches), len(kept.readings)] == [depth + 1, depth, depth] or not depth
        for layer, added in enumerate(kept.branches):
            block = trunk.blocks[layer % len(trunk.blocks)]
            if not isinstance(block.wiring, Plain | PostNorm):
                assert close(kept.states[layer] + sum(added.values()), kept.states[layer + 1])


def test_changes_that_change_nothing_change_no_bit(zoo: Case):
    plain, everywhere = zoo.all(), [Scaled(factor=1.0, **at) for at in parts(zoo)]
    with record(zoo.model, ALL) as own:
        zoo.all()
    own_stream = [Replaced(layer, of="own", stream=stream) for stream, layer, _ in blocks(zoo)]
    nothing = [Added(layer, of="own", strength=0.0, stream=stream) for stream, layer, _ in blocks(zoo)]
    with changed(zoo.model, *everywhere, *own_stream, *nothing, given={"own": own}) as found:
        assert torch.equal(zoo.all(), plain)
    assert not found.unmet


def of_rows(one: Case) -> list[tuple[Change, ...]]:
    """Different changes for the rows of a batch."""
    several = parts(one)
    stream = several[-1]["stream"] if several else ""
    some = [Without(**several[number % len(several)]) for number in (0, len(several) // 2)] if several else []
    return [(Hidden((1,), stream=stream),), tuple(some), tuple(Scaled(factor=-0.5, **at) for at in several[-2:])]


def test_rows_with_different_changes_equal_each_alone(zoo: Case):
    plain, each = zoo.all(), of_rows(zoo)
    together = [one.replace(row=row + 1) for row, some in enumerate(each) for one in some]
    with changed(zoo.model, *together):
        found = zoo.all()
    for row, some in enumerate(each):
        with changed(zoo.model, *some), torch.no_grad():
            alone = zoo.values([row])[0]
        assert close(found[row][: len(alone)], alone, zoo.rounding)
        assert not some or not close(alone, plain[row][: len(alone)], 1e-9), "and the change is seen"
    assert len(each) == ROWS


def test_a_layer_whose_branches_are_off_is_skipped(zoo: Case):
    last = {stream: (layer, block) for stream, layer, block in blocks(zoo)}
    off = [Without(layer, stream=stream) for stream, (layer, _) in last.items()]
    with record(zoo.model, ("states",)) as recorder, changed(zoo.model, *off):
        zoo.all()
    for stream, (layer, block) in last.items():
        before, after = recorder.passes[stream][0].states[layer - 1 : layer + 1]
        expected = before
        for branch in BRANCHES if isinstance(block.wiring, PostNorm) else ():
            norm = getattr(block, f"{branch}_norm")
            expected = expected if norm is None else norm(expected)
        assert torch.equal(after, torch.zeros_like(before) if isinstance(block.wiring, Plain) else expected)
