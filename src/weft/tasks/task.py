"""Task: what a user can ask for. One abstract class; every task is a final one, in a file of its own.

read -> codecs -> encode -> size the model -> draw samples -> train -> measure          planning.py
predict | measure | look | vectors                                                      using.py
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic

from torch import Tensor

from weft.batches.source import Source
from weft.config import Config, field_types
from weft.errors import DataError, WeftError
from weft.files.dataset import as_learned, is_column
from weft.generate.compute import Compute
from weft.generate.prompts import Prompt
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.models.stream import Model
from weft.objectives.objective import Objective
from weft.tasks.asks import Answer, Asks, Given, Gives, Use, Ways
from weft.tasks.baselines import Baseline
from weft.tasks.card import Card
from weft.tasks.codec import Codecs
from weft.tasks.exchange import Exchange
from weft.tasks.finetuning import decided, start_weights, with_lora
from weft.tasks.parts import Parts
from weft.tasks.race import some_rows_apart
from weft.tasks.recipe import AnyRecipe
from weft.tasks.request import D, Draft, E, Embedded, Listen, Loaded, Measured, Prediction, Request, S
from weft.tasks.settings.limits import with_settings
from weft.tasks.settings.sized import SizedTraining
from weft.tasks.table_inputs import ROLES, InputColumn, InputRow
from weft.tasks.table_inputs import opened as opened_table
from weft.training.progress import Progress


class Task(Exchange, Generic[D, E, S]):
    """One thing that can be trained and used. Its words (name, summary, files, models) stand in its card,
    what it says of models from and for other tools in `Exchange`.

    Optional methods refuse with a WeftError until a task defines them.
    """

    card: ClassVar[Card]
    parts: ClassVar[tuple[Parts, ...]]  # what a run is made of: the first of these whose wiring and ends it has
    recipe: ClassVar[AnyRecipe]
    unit: ClassVar[str]  # what the loss is per
    starts_from: ClassVar[tuple[str, ...]] = ()  # other tasks whose runs can be started from
    asks: ClassVar[tuple[Asks, ...]]  # inputs of a prediction and of a look
    embeds: ClassVar[tuple[Asks, ...]] = ()  # inputs that vectors are given of
    documents: ClassVar[tuple[str, ...]] = ()  # endings of files whose texts can be predicted in place
    slow_rows: ClassVar[bool] = True  # whether a run by minutes measures only as many rows as there is time for
    keeps: ClassVar[tuple[str, ...]] = ()  # names of the files that a run keeps of its training data (`kept_files`)
    Predict: ClassVar[type[Config]]  # settings of a prediction
    Evaluate: ClassVar[type[Compute]] = Compute  # settings of an evaluation
    Export: ClassVar[type[Config] | None] = None  # settings of an export
    Look: ClassVar[type[Config] | None] = None  # settings of a look inside
    Embed: ClassVar[type[Config] | None] = None  # settings of vectors

    @property
    def name(self) -> str:
        """What the task is called."""
        return self.card.name

    @property
    def training(self) -> type[SizedTraining]:
        """The settings of its training."""
        return self.card.training

    # What training needs

    def starting(self, request: Request) -> Request:
        """The request, with the part of the run to start from that this task uses."""
        return request

    @abstractmethod
    def codecs(self, data: D, training: S, known: Codecs) -> Codecs:
        """Both ends of the samples. `known` are those of the run to start from; others are learned from the data."""

    @abstractmethod
    def encode(self, data: D, codecs: Codecs, training: S, known: Model.Config | None, progress: Progress) -> E:
        """The data as numbers; `known` is the model, where there is one already."""

    @abstractmethod
    def sized(self, draft: Draft[D, E, S]) -> tuple[Model.Config, S]:
        """A new model that suits data and budget, and the settings with everything decided."""

    def continued(self, draft: Draft[D, E, S], origin: Loaded) -> tuple[Model.Config, S]:
        """The model of another run made ready for this task, and the settings with everything decided."""
        return with_lora(origin.model.config, draft.training), decided(draft.training, same_head=True)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        """The weights of the run to start from that this one begins with."""
        return start_weights(origin, backbone=False, same_head=True)

    def known_tensors(self, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        """Tensors of a new model that its codecs say and that nothing learns, by name: letters of tokens."""
        return {}

    def start_decoder(self, origin: Loaded, model: Model.Config) -> Mapping[str, Tensor]:
        """The weights of a language model that this one's decoder begins with."""
        raise WeftError(f"the task {self.name} has no decoder to begin with", where="--set decoder", fix="leave it out")

    @abstractmethod
    def objective(self, encoded: E, codecs: Codecs, training: S) -> Objective.Config:
        """What is learned."""

    @abstractmethod
    def source(self, encoded: E, codecs: Codecs, model: Model.Config, training: S) -> Source:
        """The samples."""

    def kept_files(self, encoded: E) -> Mapping[str, bytes]:
        """Files that a run keeps of its training data, by name, to be measured beside baselines without the data."""
        return {}

    def batch_in_words(self, training: S, source: Source) -> str:
        """The size of a step in words, for the plan."""
        return f"batch {training.batch}"

    def model_lines(self, encoded: E, model: Model.Config, name: str) -> Mapping[str, str]:
        """What people should know of a model of this name before it is trained, for the plan."""
        return {}

    def model_name(self, request: Request) -> str:
        """The name of the model that is asked for, or of the run to start from."""
        return self.recipe.model_name(request)

    def rehearsal(self, data: D) -> D | None:
        """The data on which the models that the card lets race are tried; None where there is no race.

        Its held-out rows judge the models, so they are none that the run is measured on: by default a fifth of the rows
        to train on.
        """
        return some_rows_apart(data)

    def illustrate(self, encoded: E, model: Model.Config) -> Callable[[Model], Mapping[str, bytes]] | None:
        """Draws pictures of the model into the run folder now and then, by file name."""
        return None

    # What the model card says

    @abstractmethod
    def ability(self, run: Loaded) -> str:
        """What the model does, in the first words of a sentence."""

    @abstractmethod
    def facts(self, run: Loaded) -> Mapping[str, str]:
        """How much there was to learn from, by name."""

    def example(self, run: Loaded, measured: Measured) -> str:
        """A few lines that show what the model does."""
        return ""

    # What is done with a run

    @abstractmethod
    def gives(self, run: Loaded) -> Gives:
        """The kind of the run's answers."""

    def together(self, words: Sequence[object]) -> Iterable[Sequence[object]]:
        """Words in groups, each of which is opened as one; by default each word is alone."""
        return [[word] for word in words]

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        """The inputs that a group of words stands for: by default each is a text. Only here are names opened."""
        for word in words:
            if not isinstance(word, str):
                raise WeftError(f"expected a text, found {word!r}")
            yield Given(word, word)

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        """The columns of a table's row that an input is made of; by default those of the kind of input that is asked.

        A column is the one that training was told of, where it has a setting for it (`text_column`).
        """
        trained = run.config.get("training") or {}
        roles = ROLES[(self.embeds if use == "embed" and self.embeds else self.asks)[0].kind]
        return tuple(InputColumn(role, name := f"{role.name}_column", trained.get(name)) for role in roles)

    def names_of_columns(self) -> tuple[str, ...]:
        """The settings of a training that name columns of tables, which an evaluation on other tables takes too."""
        return tuple(filter(is_column, field_types(self.training)))

    def taken(self, run: Loaded) -> Mapping[str, str]:
        """The columns of tables that a run learned from, by the settings that name them."""
        return run.data.taken

    def read_by(self, run: Loaded) -> S:
        """The settings by which other data is read: columns that a user names now must be there, others need not."""
        return with_settings(as_learned(run.training(self.training), self.taken(run)), run.named)  # type: ignore[return-value]

    def in_file(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        """The inputs in a file of the task's own format; None where each row or line of it is one."""
        return None

    def in_table(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        """The inputs in a table, one a row; None where the table as a whole is an input, which `opened` takes."""
        table = opened_table(path, self.columns(run, ways.use), self.card.reader, ways.columns)
        return table.inputs(partial(self.from_row, run, ways=ways))

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        """The input in a row of a table: by default the text in its column, or what the file is that it names."""
        if row.columns[0].role.name not in ("file", "picture"):
            return Given(row.text(), row.text())
        found = list(self.opened(run, [self.file_in(row)], ways))
        if len(found) != 1:
            raise DataError(f"expected the name of one file, found {len(found)}", where=row.where)
        return replace(found[0], name=row.text())

    def file_in(self, row: InputRow) -> Path:
        """The file that a row of a table names."""
        return row.file()

    def input_cells(self, run: Loaded, one: Given) -> dict[str, Any]:
        """An input that stands in no table as the columns of one."""
        return {self.columns(run, "predict")[0].role.name: one.name}

    def cells(self, prediction: Prediction) -> Sequence[Mapping[str, Any]]:
        """A prediction as rows of a table: one, or one for each part; they have the columns that `gives` names."""
        return [prediction]

    @abstractmethod
    def predict(self, run: Loaded, inputs: Sequence[Given], how: Any, listen: Listen | None) -> list[Answer]:
        """One answer or more for each input, in their order; `how` is a `Predict`. Opens and writes nothing."""

    def rows(self, run: Loaded, inputs: Sequence[Given], how: Any) -> list[Prompt]:
        """The prompt of each input, for whoever steps a decoder of one stream itself; `how` is a `Predict`."""
        raise WeftError(f"a run of the task {self.name} continues no prompts", where=str(run.folder.path))

    @abstractmethod
    def shown(self, prediction: Prediction) -> str:
        """A prediction as plain text."""

    def prepared(self, run: Loaded, how: Any) -> Loaded:
        """The run as it is to be measured or exported; `how` is an `Evaluate` or an `Export`."""
        return run.computing(how.precision) if isinstance(how, Compute) else run

    @abstractmethod
    def held_out(self, run: Loaded, sources: Sequence[str]) -> Any:
        """Data that a user names to measure on, as `measure` takes it. Nothing is learned from it."""

    @abstractmethod
    def measure(self, run: Loaded, held_out: Any, progress: Progress, seconds: float | None = None) -> Measured:
        """How well the run does on held-out data.

        A text that takes longer than `seconds` is measured in part, and `more["part"]` says so; of rows, whoever calls
        takes as many as there is time for.
        """

    def examined(self, run: Loaded, how: Any, progress: Progress) -> Mapping[str, Any]:
        """What an evaluation is asked for beside measures, for its report; `how` is an `Evaluate`."""
        return {}

    def card_sections(self, examined: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        """What of that belongs into the model card: paragraphs by the titles of their sections."""
        return {}

    def baselines(self, run: Loaded, data: D, held_out: Any, measured: Measured) -> Iterator[Baseline]:
        """Plain methods on the same held-out data, the cheapest first, fitted on `data.train` alone.

        Each has a tally with as many rows as that of the run's own measure, in the same order.
        """
        return iter(())

    def usual_answer(self, data: D, codecs: Codecs) -> str | None:
        """The answer that is right most often in the data, which a run keeps; None where there is no such answer."""
        return None

    def kept_baselines(self, run: Loaded, held_out: Any) -> Iterator[Baseline]:
        """Plain methods that need nothing but what the run keeps (`usual_answer`)."""
        return iter(())

    def look(self, run: Loaded, inputs: Sequence[Given], how: Any) -> View:
        """What the model does inside with an input, or several where the task asks for several; `how` is a `Look`."""
        raise WeftError(f"there is nothing to look at yet for the task {self.name}", where="weft look")

    def study(self, run: Loaded, inputs: Sequence[Given], how: Any) -> Study:
        """An input as the stream that answers sees it, and its answer, which can be followed; `how` is a `Look`."""
        raise WeftError(f"a run of the task {self.name} gives no answer that could be followed", where="study")

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Any) -> Embedded:
        """Vectors with the names of what they are of; `how` is an `Embed`."""
        raise WeftError(f"a run of the task {self.name} gives no vectors", where="weft embed")
