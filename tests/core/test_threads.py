"""Independent parts are all done, whatever the number of threads, and the number of threads is what it was."""

from threading import Barrier, get_ident

import pytest
import torch

from weft.core.row_table import RowTable
from weft.core.threads import each_on_one_thread, suited_threads


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_part_is_done_once_and_threads_are_as_before(threads: int) -> None:
    before, seen = torch.get_num_threads(), list[int]()
    torch.set_num_threads(threads)
    try:
        each_on_one_thread(seen.append, range(50))
        assert sorted(seen) == list(range(50)) and torch.get_num_threads() == threads
        with pytest.raises(ZeroDivisionError):
            each_on_one_thread(lambda part: 1 // part, range(3))
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_every_thread_that_works_has_limited_its_own_products(monkeypatch: pytest.MonkeyPatch) -> None:
    before, meet = torch.get_num_threads(), Barrier(3, timeout=60)
    torch.set_num_threads(3)
    limited, worked, limit = set[int](), set[int](), torch.set_num_threads

    def noted(threads: int) -> None:
        if threads == 1:
            limited.add(get_ident())
        limit(threads)

    def work(part: int) -> None:
        meet.wait()  # so that each thread has one part
        worked.add(get_ident())

    monkeypatch.setattr(torch, "set_num_threads", noted)
    try:
        each_on_one_thread(work, range(3))
        assert len(worked) == 3 and worked == limited
    finally:
        limit(before)


def test_threads_that_do_not_suit_a_small_model_are_there_for_independent_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before, meet = torch.get_num_threads(), Barrier(2, timeout=60)
    torch.set_num_threads(2)
    try:
        with suited_threads(RowTable(100, 100), small=10):  # a table is no matrix
            assert torch.get_num_threads() == 1
            each_on_one_thread(lambda part: meet.wait(), range(2))  # would break if one thread did both
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
