"""A talk with a run that continues texts: turns that are kept, and forgotten from the oldest on when room ends."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.generate.session import Session
from weft.generate.stopping import Stop, never
from weft.runs.asking import ask, checked
from weft.tasks.asks import Given, Turns

if TYPE_CHECKING:
    from weft.runs.run import Run


class Conversation:
    """`answer` says something to the model and returns what it says. Settings are those of a prediction."""

    def __init__(self, run: "Run", **settings: Any):
        if not run.task.gives(run.loaded).streams:
            fix = "use weft predict; a language model can be talked to"
            raise WeftError(f"a run of the task {run.task.name} does not talk", where=str(run.folder), fix=fix)
        self.run, self.how = run, checked(run, "predict", settings, files=True)
        self.said: list[tuple[str, str]] = []  # (role, text)
        self.forgotten = 0  # turns that no longer fit into the model's context
        self._window = Session(run.loaded.stream).window

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the talk is written."""
        return self.run.task.rows(self.run.loaded, [Given(Turns((("user", ""),)))], self.how)[0].notes

    def answer(self, text: str, *, listen: Callable[[str], None] | None = None, stop: Stop = never) -> str:
        """The answer to what is said; `listen` hears it as it comes, and once `stop()` is true it ends."""
        heard: list[str] = []

        def hear(row: int, piece: str) -> None:
            heard.append(piece)
            if listen is not None:
                listen(piece)

        talk = self._fitting([*self.said, ("user", text)])
        found = list(ask(self.run, [Given(Turns(tuple(talk)))], self.how, listen=hear, stop=stop))
        if found and found[0].error is not None:
            raise found[0].error
        answer = str(found[0].values["text"]) if found else "".join(heard).strip()
        self.said += [("user", text), ("assistant", answer)]
        return answer

    def _fitting(self, talk: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The last turns, as many as the model reads at once."""
        first = 0
        while self._window is not None and len(talk) - first > 1:
            given = [Given(Turns(tuple(talk[first:])))]
            if len(self.run.task.rows(self.run.loaded, given, self.how)[0].ids) <= self._window:
                break
            first += 2
        self.forgotten = min(first, len(talk) - 1)
        return talk[self.forgotten :]
