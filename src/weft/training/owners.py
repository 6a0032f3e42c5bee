"""Owners: what is computed of whole matrices is divided among processes. Each matrix has one owner, which computes it.

    parts     each process has some rows of every matrix: they travel to the owner, and those of its result back
    copies    each process has all matrices: the owner's result travels to all

Small matrices travel together. Of large ones there are at once no more than there are processes to compute them.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from weft.training.shares import Share, rows_of

MESSAGE_BYTES = 25 * 2**20  # of whole matrices that travel together, unless fewer would leave processes without work
COPIES_AT_ONCE = 8  # large matrices at most that travel together to all processes: each process has memory for all
MOST_FILLED = 1.5  # numbers sent over numbers of results, up to which results of all owners travel in one message

Compute = Callable[[Sequence[Tensor]], Sequence[Tensor]]  # whole matrices to as many of the same shapes


class Owners:
    """The processes of a share, as owners of matrices that all of them know."""

    def __init__(self, share: Share):
        self.share = share
        self.size = share.parts if share.divided else share.replicas
        self.own = share.part if share.divided else share.replica
        self._work = [0.0] * self.size  # that each process has been given in this step

    def begin(self) -> None:
        """A step begins: what each owns is a function of the shapes of this step alone."""
        self._work = [0.0] * self.size

    def portions(self, shapes: Sequence[tuple[int, int]]) -> Iterator[slice]:
        """Which of the matrices with these rows and columns travel together."""
        fewest, start, bytes_ = self.size if self.share.divided else min(self.size, COPIES_AT_ONCE), 0, 0
        for place, (rows, columns) in enumerate(shapes, 1):
            bytes_ += 4 * rows * columns
            if bytes_ >= MESSAGE_BYTES and place - start >= fewest:
                yield slice(start, place)
                start, bytes_ = place, 0
        if start < len(shapes):
            yield slice(start, len(shapes))

    def computed(self, matrices: Sequence[Tensor], rows: Sequence[int], compute: Compute) -> list[Tensor]:
        """What `compute` gives for matrices of which this process has its part; the same part of each result."""
        columns = [one.shape[1] for one in matrices]
        owners = self._owners(list(zip(rows, columns, strict=True)))
        with self.share.world.together():
            if self.share.divided:
                return self._of_parts(matrices, rows, owners, compute)
            return self._of_copies(matrices, owners, compute)

    def _owners(self, shapes: Sequence[tuple[int, int]]) -> list[int]:
        """An owner for each matrix: large ones first, each to the process that has the least work."""
        work = [rows * columns * min(rows, columns) for rows, columns in shapes]
        found = [0] * len(shapes)
        for i in sorted(range(len(shapes)), key=lambda i: (-work[i], i)):
            found[i] = min(range(self.size), key=self._work.__getitem__)
            self._work[found[i]] += work[i]
        return found

    def _of_parts(
        self, parts: Sequence[Tensor], rows: Sequence[int], owners: Sequence[int], compute: Compute
    ) -> list[Tensor]:
        mine = [i for i, owner in enumerate(owners) if owner == self.own]
        order = sorted(range(len(parts)), key=lambda i: (owners[i], i))  # as they travel
        given = [0] * self.size  # numbers that go to each process
        for i in order:
            given[owners[i]] += parts[i].numel()
        cuts = {i: [_length(rows[i], part, self.size) for part in range(self.size)] for i in mine}
        taken = [sum(cuts[i][part] * parts[i].shape[1] for i in mine) for part in range(self.size)]
        there = self.share.swap(torch.cat([parts[i].reshape(-1) for i in order]), given, taken)
        pieces = iter(there.split([cuts[i][part] * parts[i].shape[1] for part in range(self.size) for i in mine]))
        by_part = [[next(pieces).view(-1, parts[i].shape[1]) for i in mine] for _ in range(self.size)]
        made = compute([torch.cat(each) for each in zip(*by_part, strict=True)])
        cut = [one.split(cuts[i]) for i, one in zip(mine, made, strict=True)]
        back = [each[part].reshape(-1) for part in range(self.size) for each in cut]
        here = self.share.swap(torch.cat(back) if back else there.new_empty(0), taken, given)
        results = dict(zip(order, here.split([parts[i].numel() for i in order]), strict=True))
        return [results[i].view_as(one) for i, one in enumerate(parts)]

    def _of_copies(self, matrices: Sequence[Tensor], owners: Sequence[int], compute: Compute) -> list[Tensor]:
        owned = [[i for i, owner in enumerate(owners) if owner == process] for process in range(self.size)]
        made = [one.reshape(-1) for one in compute([matrices[i] for i in owned[self.own]])]
        own = torch.cat(made) if made else matrices[0].new_empty(0)
        every = self._spread(own, [sum(matrices[i].numel() for i in some) for some in owned])
        results: dict[int, Tensor] = {}
        for some, numbers in zip(owned, every, strict=True):
            results |= dict(zip(some, numbers.split([matrices[i].numel() for i in some]), strict=True))
        return [results[i].view_as(one) for i, one in enumerate(matrices)]

    def _spread(self, own: Tensor, counts: Sequence[int]) -> list[Tensor]:
        """The results of each owner in all processes; `counts` says how many numbers each has.

        One message is faster than one from each owner, but fills all of them up to the longest.
        """
        longest = max(counts)
        if self.size * longest <= MOST_FILLED * sum(counts):
            every = self.share.every(torch.cat([own, own.new_zeros(longest - len(own))])).view(self.size, longest)
            return [row[:count].clone() for row, count in zip(every, counts, strict=True)]
        found = [own if process == self.own else own.new_empty(count) for process, count in enumerate(counts)]
        for process, numbers in enumerate(found):
            if len(numbers):
                self.share.copy(numbers, process)
        return found


def _length(rows: int, part: int, parts: int) -> int:
    cut = rows_of(rows, part, parts)
    return cut.stop - cut.start
