"""What is checked at every call while tests run: types of all functions of a module, and shapes of their tensors.

`jaxtyping` checks both for every function, with a new scope of sizes for each call. Most functions name no tensor, and
need no scope. Functions inside functions are made anew in each call, and compiling their checks takes longer than what
they do: they are not public, and are left alone.
"""

from collections.abc import Callable
from functools import wraps
from inspect import isclass, isfunction
from typing import Any, get_args

import jaxtyping
from beartype import beartype
from jaxtyping import AbstractArray

_with_shapes = jaxtyping.jaxtyped


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
        if any(map(_names_tensor, made.__annotations__.values())):
            return _with_shapes(made, typechecker=typechecker)
        return _with_types(made)

    return decorate


def _names_tensor(annotation: Any) -> bool:
    """Whether an annotation says a shape, or may say one: a text is not looked into."""
    if isinstance(annotation, str) or (isclass(annotation) and issubclass(annotation, AbstractArray)):
        return True
    return any(map(_names_tensor, get_args(annotation)))


def _with_types(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose types are checked, unless a test turns checks off while a graph is traced."""
    checked = beartype(function)

    @wraps(function)
    def wrapped(*args: Any, **more: Any) -> Any:
        return (function if jaxtyping.config.jaxtyping_disable else checked)(*args, **more)

    return wrapped
