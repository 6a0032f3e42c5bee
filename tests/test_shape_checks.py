"""The checks of the tests themselves: wrong types and wrong shapes are refused in every public function."""

from collections.abc import Iterator

import jaxtyping
import pytest
import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from helpers import shape_checks
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from weft.core.scope import Scope
from weft.tokens import Tokens

CHECKED = shape_checks.checks(typechecker=beartype)


def as_public(function):
    """A function as it is at the top of a module."""
    function.__qualname__ = function.__name__
    return CHECKED(function)


def joined(a: Float[Tensor, "B N"], b: Float[Tensor, "B M"]) -> Float[Tensor, "B N+M"]:
    return torch.cat([a, b], 1)


def longest(rows: list[Float[Tensor, "_"]] | None) -> int:
    return max(map(len, rows or ()))


def counted(number: int) -> str:
    return number * "a"


def text() -> str:
    return 3  # a wrong answer


def test_sizes_of_tensors_belong_together():
    check = as_public(joined)
    assert check(torch.ones(2, 3), torch.ones(2, 4)).shape == (2, 7)
    with pytest.raises(BeartypeCallHintViolation):
        check(torch.ones(2, 3), torch.ones(1, 4))


def test_tensors_are_found_within_other_types():
    check = as_public(longest)
    assert check([torch.ones(3)]) == 3
    with pytest.raises(BeartypeCallHintViolation):
        check([torch.ones(3, 3)])


def test_what_is_made_one_by_one_has_sizes_of_its_own():
    def rows(x: Float[Tensor, "B N"]) -> Iterator[Float[Tensor, " N"]]:
        yield from x

    def whole(x: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
        return torch.stack([*each(x.T)]).T

    each = as_public(rows)
    assert as_public(whole)(torch.ones(2, 3)).shape == (2, 3)
    with pytest.raises(TypeCheckError):
        next(each(torch.ones(2)))


def test_types_are_checked_where_no_tensor_is_named(monkeypatch: pytest.MonkeyPatch):
    check = as_public(counted)
    assert check(2) == "aa"
    with pytest.raises(BeartypeCallHintViolation):
        check(2.0)
    with pytest.raises(BeartypeCallHintViolation):
        as_public(text)()
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    assert as_public(text)() == 3


def test_the_first_calls_of_each_test_are_checked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shape_checks, "CALLS", 2)
    check = as_public(counted)
    assert check(2) == "aa" and check(True) == "a"
    with pytest.raises(TypeError, match="can't multiply"):
        check(2.0)
    shape_checks.begin_test()
    with pytest.raises(BeartypeCallHintViolation):
        check(2.0)


def test_functions_made_in_a_call_are_left_alone():
    def inner(number: int) -> int:
        return number

    assert CHECKED(inner) is inner


def test_functions_and_methods_of_the_package_are_checked():
    assert hasattr(Tokens.take, "__wrapped__") and hasattr(Scope.memo, "__wrapped__")
