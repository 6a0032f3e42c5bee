"""Owners: matrices divided among processes are computed as in one, and each once."""

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from weft.training import owners as module
from weft.training.muon import Muon
from weft.training.owners import Owners
from weft.training.shares import Share
from weft.training.world import World

SHAPES = ((5, 8), (12, 3), (5, 8), (1, 8), (2, 40), (9, 9))


class Threads:
    """What some processes tell each other, for threads that stand in for them."""

    def __init__(self, size: int):
        self.size, self.barrier, self.told = size, threading.Barrier(size), dict[int, Any]()

    def gathered(self, rank: int, given: Any) -> list[Any]:
        """What all give, by rank."""
        self.told[rank] = given
        self.barrier.wait(10)
        found = [self.told[one] for one in range(self.size)]
        self.barrier.wait(10)
        return found

    def run(self, share: type[Share], work: Any) -> list[Any]:
        """work(share) of each process."""
        found: dict[int, Any] = {}

        def one(rank: int) -> None:
            found[rank] = work(share(self, rank))  # type: ignore[call-arg, arg-type]

        all_ = [threading.Thread(target=one, args=(rank,)) for rank in range(self.size)]
        for thread in all_:
            thread.start()
        for thread in all_:
            thread.join(20)
        return [found[rank] for rank in range(self.size)]


class Parts(Share):
    """Each process has rows of every matrix."""

    def __init__(self, threads: Threads, rank: int):
        super().__init__(World(), parts=1)
        self.threads, self.part, self.parts = threads, rank, threads.size

    def swap(self, sent: Tensor, given: Any, taken: Any) -> Tensor:
        assert sum(given) == len(sent)
        pieces = [every.split(sizes)[self.part] for every, sizes in self.threads.gathered(self.part, (sent, given))]
        assert list(map(len, pieces)) == list(taken)
        return torch.cat(pieces)


class Copies(Share):
    """Each process has every matrix."""

    def __init__(self, threads: Threads, rank: int):
        super().__init__(World(), parts=1)
        self.threads, self.replica, self.replicas = threads, rank, threads.size

    def every(self, own: Tensor) -> Tensor:
        return torch.cat(self.threads.gathered(self.replica, own))

    def copy(self, numbers: Tensor, replica: int) -> None:
        numbers.copy_(self.threads.gathered(self.replica, numbers)[replica])


class Counted(Share):
    """One of many processes that have every matrix; it counts the numbers that travel to each."""

    def __init__(self, size: int):
        super().__init__(World(), parts=1)
        self.replica, self.replicas, self.sent = size - 1, size, 0

    def every(self, own: Tensor) -> Tensor:
        self.sent += self.replicas * len(own)
        return own.repeat(self.replicas)

    def copy(self, numbers: Tensor, replica: int) -> None:
        self.sent += len(numbers)


def numbers(seed: int, shape: tuple[int, int]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def trained(share: Share | None, done: list[int]) -> list[Tensor]:
    """Matrices after two steps of Muon, of which this share has its part; `done` counts those it made orthogonal."""
    own = (lambda t: t) if share is None else share.of
    params = [own(numbers(i, shape)).clone().requires_grad_() for i, shape in enumerate(SHAPES)]
    rows = {id(p): shape[0] for p, shape in zip(params, SHAPES, strict=True)}
    owners = None if share is None else Owners(share)
    rule = Muon(params, lr=0.1, weight_decay=0.1, dtype=torch.float32, owners=owners, rows=rows)
    orthogonal = rule._orthogonal
    rule._orthogonal = lambda some: (done.append(len(some)), orthogonal(some))[1]  # type: ignore[method-assign]
    for step in range(2):
        for i, (p, shape) in enumerate(zip(params, SHAPES, strict=True)):
            p.grad = own(numbers(10 * step + i, shape)).clone()
        rule.step()
    return [p.detach() for p in params]


@pytest.mark.parametrize("bytes_", [1, 400, 2**20], ids=["one by one", "some", "all together"])
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("kind", [Parts, Copies])
def test_muon_divided_among_processes_is_muon(
    kind: type[Share], size: int, bytes_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MESSAGE_BYTES", bytes_)
    done = list[int]()
    alone, found = trained(None, []), Threads(size).run(kind, lambda share: (share, trained(share, done)))
    assert sum(done) == 2 * len(SHAPES), "each matrix has one owner"
    for share, theirs in found:
        assert all(torch.allclose(share.of(a), b, atol=1e-6) for a, b in zip(alone, theirs, strict=True))


def test_work_is_shared_evenly_and_large_matrices_travel_as_many_as_processes_compute() -> None:
    threads = Threads(4)
    copies, parts = Owners(Copies(threads, 0)), Owners(Parts(threads, 0))
    assert sorted(copies._owners([(64, 64)] * 8)) == [0, 0, 1, 1, 2, 2, 3, 3]
    large = copies._owners([(100, 100), (50, 50), (50, 50), (50, 50), (50, 50)])
    assert large.count(large[0]) == 1, "what owns the large one owns no small one"
    whole = (4096, 4096)
    assert list(parts.portions([whole] * 10)) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert list(parts.portions([(64, 64)] * 30)) == [slice(0, 30)]
    many = Owners(Copies(Threads(64), 0))
    assert list(many.portions([whole] * 9)) == [slice(0, 8), slice(8, 9)]


BLOCK = ((768, 768), (768, 768), (768, 768), (768, 768), (3072, 768), (768, 3072))
MODELS = {"gpt2": BLOCK * 12, "three blocks": BLOCK * 3, "small": ((64, 64), (96, 64)) * 8, "one": ((2048, 2048),)}


@pytest.mark.parametrize("size", [2, 4, 16, 64])
@pytest.mark.parametrize("name", MODELS)
def test_what_copies_send_and_keep_does_not_grow_with_their_number(name: str, size: int) -> None:
    share = Counted(size)
    matrices, owners = [torch.empty(shape, device="meta") for shape in MODELS[name]], Owners(share)
    results = list[Tensor]()
    for some in owners.portions(MODELS[name]):
        these = matrices[some]
        results += owners.computed(these, [len(one) for one in these], lambda given: [one.clone() for one in given])
    whole = sum(one.numel() for one in matrices)
    assert [one.shape for one in results] == [one.shape for one in matrices]
    assert share.sent <= 1.5 * whole
    kept = {one.untyped_storage()._cdata: one.untyped_storage().nbytes() for one in results}
    assert sum(kept.values()) == 4 * whole
