"""What is checked while tests run: types of all functions of a module, and shapes of their tensors.

`beartype` checks both for every function; where a tensor is named, `jaxtyping` gives each call a new scope of sizes.
Its own decorator would bind the arguments of each call to their names for its messages, which takes longer than the
check. A training calls each function many times in the same way: its first calls in each test are checked.
Functions inside functions are made anew in each call, and compiling their checks takes longer than what they do: they
are not public, and are left alone.
"""

from collections.abc import Callable
from functools import wraps
from inspect import isclass, isfunction, isgeneratorfunction
from typing import Any, ForwardRef, Literal, Self, get_args, get_origin

import jaxtyping
from beartype import beartype
from jaxtyping import AbstractArray

_with_shapes = jaxtyping.jaxtyped
CALLS = 100  # of a function that are checked in one test
_tests = 0  # that have begun


def begin_test() -> None:
    """From now on, the first calls of every function are checked once more."""
    global _tests
    _tests += 1


def install(modules: list[str]) -> None:
    """Check these modules and all below them, from their first import on."""
    jaxtyping.jaxtyped = checks
    jaxtyping.install_import_hook(modules, "beartype.beartype")


def checks(*, typechecker: Any) -> Callable[[Any], Any]:
    """The decorator that the import hook puts on every class and function."""

    def decorate(made: Any) -> Any:
        if not isfunction(made):
            return _with_shapes(made, typechecker=typechecker)
        if "<locals>" in made.__qualname__:
            return made
        hints = made.__annotations__.values()
        # A type that is not there at run time, which jaxtyping leaves unchecked; what goes on after it has returned
        if any(map(_is_text, hints)) or isgeneratorfunction(made):
            return _at_first(made, _with_shapes(made, typechecker=typechecker))
        if any(map(_names_tensor, hints)):
            return _at_first(made, _scoped(beartype(made)))
        return _at_first(made, beartype(made))

    return decorate


def _scoped(checked: Callable[..., Any]) -> Callable[..., Any]:
    """A checked function in a scope of sizes for each call."""

    @wraps(checked)
    def scoped(*args: Any, **more: Any) -> Any:
        with _with_shapes("context"):
            return checked(*args, **more)

    return scoped


def _is_text(annotation: Any) -> bool:
    """Whether an annotation, or a part of it, is a text, which may say a shape, or the class around it."""
    if get_origin(annotation) is Literal:
        return False
    return annotation is Self or isinstance(annotation, str | ForwardRef) or any(map(_is_text, get_args(annotation)))


def _names_tensor(annotation: Any) -> bool:
    """Whether an annotation says a shape."""
    if isclass(annotation) and issubclass(annotation, AbstractArray):
        return True
    return any(map(_names_tensor, get_args(annotation)))


def _at_first(function: Callable[..., Any], checked: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is checked at its first calls in a test, unless the test turns checks off to trace a graph."""
    test, calls = 0, 0

    @wraps(function)
    def wrapped(*args: Any, **more: Any) -> Any:
        nonlocal test, calls
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **more)
        if test != _tests:
            test, calls = _tests, 0
        calls += 1
        return (function if calls > CALLS else checked)(*args, **more)

    return wrapped
