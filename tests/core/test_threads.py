"""Independent parts are all done, whatever the number of threads, and the number of threads is what it was."""

import pytest
import torch

from weft.core.threads import each_on_one_thread


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
