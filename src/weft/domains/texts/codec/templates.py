"""Chat templates: talks as text with marks, by a Jinja template as other libraries have it. Runs no code of strangers.

A template sees `messages` ({"role", "content"}), `add_generation_prompt`, `bos_token` and `eos_token`. It is rendered
in a sandbox: no attribute of Python's own, no file, no import; its loops and what it writes have an end.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from jinja2 import Template, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from weft.errors import ConfigError

MOST_CHARACTERS = 2**18  # of a template
MOST_ROUNDS = 100_000  # of all loops and macros of one rendering
MOST_WRITTEN = 2**24  # characters
FIX = "repair the template, or leave it out: the talk is then marked as weft does it"
Message = Mapping[str, str]
N = TypeVar("N", nodes.For, nodes.Macro)


class Refused(Exception):
    """A template refuses a talk: `raise_exception` was called in it."""


class _TooLong(Exception):
    """A template does not come to an end."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja as chat templates expect it, with arithmetic that cannot fill the memory."""

    intercepted_binops = frozenset(("*", "**", "+"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """A sum, or a product of two numbers; texts are not repeated."""
        if operator == "+":
            return _joined(left, right) if isinstance(left, str) and isinstance(right, str) else left + right
        if operator == "**" or not all(isinstance(side, int | float) for side in (left, right)):
            raise _TooLong
        return left * right


class _Bounded(NodeTransformer):
    """Lets the loops and macros of a template count their rounds, and texts that it joins have an end."""

    def visit_For(self, node: nodes.For) -> nodes.For:
        """A loop that counts."""
        return self._counted(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:
        """A macro that counts."""
        return self._counted(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Call:
        """Texts joined by a function that knows the most."""
        self.generic_visit(node)
        return nodes.Call(nodes.Name("joined", "load"), node.nodes, [], None, None)

    def _counted(self, node: N) -> N:
        self.generic_visit(node)
        call = nodes.Call(nodes.Name("count_round", "load"), [], [], None, None)
        node.body.insert(0, nodes.Output([call]))
        return node


def _joined(*parts: Any) -> str:
    if sum(len(str(part)) for part in parts) > MOST_WRITTEN:
        raise _TooLong
    return "".join(map(str, parts))


def _refuse(message: str) -> None:
    raise Refused(str(message)[:300])


def _as_json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


@lru_cache(maxsize=16)
def _compiled(source: str, where: str) -> Template:
    if len(source) > MOST_CHARACTERS:
        raise ConfigError(f"the chat template has more than {MOST_CHARACTERS:,} characters", where=where, fix=FIX)
    sandbox = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    sandbox.filters["tojson"] = _as_json
    sandbox.globals |= {"raise_exception": _refuse, "joined": _joined}
    sandbox.globals["strftime_now"] = lambda form: ""  # the same talk is the same text on every day
    try:
        tree = _Bounded().visit(sandbox.parse(source))
        tree.set_lineno(1).set_environment(sandbox)
        code = sandbox.compile(tree)
        return Template.from_code(sandbox, code, sandbox.make_globals(None))
    except (TemplateError, RecursionError, ValueError, AssertionError) as error:
        problem = f"the chat template cannot be read: {error!s:.200}"
        raise ConfigError(problem, where=where, fix=FIX) from None


def rendered(template: str, messages: Sequence[Message], *, prompt: bool, tokens: Mapping[str, str], where: str) -> str:
    """A talk as a template writes it; with `prompt`, up to where an answer begins. A refusal of it is a `Refused`."""
    compiled, rounds, written = _compiled(template, where), 0, list[str]()

    def count_round() -> str:
        nonlocal rounds
        rounds += 1
        if rounds > MOST_ROUNDS:
            raise _TooLong
        return ""

    given = {"messages": [dict(one) for one in messages], "add_generation_prompt": prompt, "count_round": count_round}
    size = 0
    try:
        for piece in compiled.generate(**given, **tokens, tools=None, documents=None):
            size += len(piece)
            if size > MOST_WRITTEN:
                raise _TooLong
            written.append(piece)
    except Refused:
        raise
    except _TooLong:
        problem = "the chat template writes without end"
        raise ConfigError(problem, where=where, fix=FIX) from None
    except Exception as error:  # whatever a stranger's template does
        problem = f"the chat template fails: {type(error).__name__}: {error!s:.200}"
        raise ConfigError(problem, where=where, fix=FIX) from None
    return "".join(written)
