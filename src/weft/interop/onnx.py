"""Writing a model as an ONNX graph with free batch and length, and proving it: onnxruntime computes the same.

    model.onnx  weft.json  tokenizer.json

weft.json says what goes in and out. Weights beyond 2 GB, which model.onnx cannot hold, are in model.onnx.data.
"""

import contextlib
import copy
import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.errors import ConfigError, DataError, WeftError
from weft.interop.marks import Marks
from weft.interop.ports import Inputs, Signature, written
from weft.interop.proof import run_reference
from weft.interop.signatures import TextPooling, signature, unstated
from weft.interop.staging import must_be_new, staged
from weft.interop.tokenizer_files import check_tokenizer
from weft.json_text import write_json
from weft.models.adapted import has_adapters, merged
from weft.models.stream import Model
from weft.storage import store
from weft.storage.tensors import read_tensors, write_tensors
from weft.version import VERSION

REFERENCE_RUN = Path(__file__).with_name("onnx_reference_run.py")
LIBRARIES = ("onnx", "onnxscript", "onnxruntime")
TOLERANCE = 1e-4  # of the unit; by default the largest value, or one where all are smaller


def write_onnx(
    path: str | Path,
    model: Model,
    *,
    tokenizer_json: str | None = None,
    labels: Sequence[str] = (),
    marks: Marks = Marks(),
    unit: float | None = None,
    problem: str | None = None,
    pooling: TextPooling = TextPooling(),
) -> float:
    """Write a model as an ONNX graph. Returns the largest difference between its values and ours.

    The folder must not exist yet. It appears whole and proved or not at all. Adapters are merged into the weights, and
    all numbers are in fp32. Texts are of one segment, and no pixels are missing. Differences must be small beside
    `unit`, or beside the largest value where it is left out. `problem` is the kind of labels, as config.json has it
    elsewhere, `pooling` how a text gets its vector.
    """
    absent = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if absent:
        raise WeftError(f"{' and '.join(absent)} not installed, needed for ONNX", fix="pip install 'weft[onnx]'")
    target = Path(path)
    must_be_new(target)
    twin = merged(model) if has_adapters(model) else copy.deepcopy(model)
    shown = signature(twin.cpu().float(), pooling).eval().requires_grad_(False)
    described = {**_described(shown, tokenizer_json, labels, marks), **({"problem_type": problem} if problem else {})}
    graph = _graph(shown)
    with staged(target) as folder:
        graph.save(folder / "model.onnx")
        store.write_file(folder / "weft.json", write_json(described).encode())
        if tokenizer_json is not None:
            store.write_file(folder / "tokenizer.json", tokenizer_json.encode())
        return prove_onnx(folder, shown, unit)


def prove_onnx(folder: Path, shown: Signature, unit: float | None = None) -> float:
    """The largest difference between our values and onnxruntime's, over inputs of several sizes, in another process."""
    trials = {str(i): trial for i, trial in enumerate(shown.trials())}
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / name for name in ("inputs.safetensors", "outputs.safetensors")]
        write_tensors(files[0], {f"{i}.{name}": t for i, trial in trials.items() for name, t in trial.items()})
        run_reference(REFERENCE_RUN, folder, files, who="onnxruntime", where="model.onnx")
        theirs = read_tensors(files[1])
    largest = 0.0
    for i, inputs in trials.items():
        with torch.inference_mode():
            ours = shown.values(inputs)
        for name, values in ours.items():
            largest = max(largest, _difference(shown, name, inputs, values, theirs[f"{i}.{name}"], unit))
    return largest


def _difference(shown: Signature, name: str, inputs: Inputs, ours: Tensor, theirs: Tensor, unit: float | None) -> float:
    sizes = ", ".join(f"{given} {list(t.shape)}" for given, t in inputs.items())
    where = f"{name} of {sizes}"
    if theirs.shape != ours.shape:
        raise DataError(f"values of shape {list(theirs.shape)} instead of {list(ours.shape)}", where=where)
    if not theirs.isfinite().all():  # at padding too: nothing downstream should meet NaN
        raise DataError("the graph gives values that are not finite", where=where)
    counted = shown.counted(shown.outputs[name], inputs)
    if counted is not None:
        ours, theirs = ours[counted], theirs[counted]
    largest = float((ours - theirs).abs().max())
    if not largest <= TOLERANCE * (unit or max(1.0, float(ours.abs().max()))):
        raise DataError(f"the graph computes other values than the model: they differ by {largest:.2g}", where=where)
    return largest


def _graph(shown: Signature) -> torch.onnx.ONNXProgram:
    """The graph, traced on one input with names for the axes that are free."""
    sizes = {name: _axis(name, step) for name, step in shown.axes.items()}
    shapes = {
        name: {i: sizes[axis] for i, axis in enumerate(port.shape) if isinstance(axis, str)}
        for name, port in shown.inputs.items()
    }
    try:
        with unstated(shown), torch.no_grad(), _quiet():
            graph = torch.onnx.export(
                shown,
                kwargs=shown.sample(),
                input_names=list(shown.inputs),
                output_names=list(shown.outputs),
                dynamic_shapes=shapes,
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        reason = str(error.__cause__ or error).strip().splitlines()
        raise ConfigError(f"torch cannot write this model as a graph: {reason[0]:.400}", where="export") from error
    assert graph is not None
    graph.model.graph.metadata_props.clear()
    for node in graph.model.graph.all_nodes():
        node.metadata_props.clear()  # where in whose files each operation was written
    return graph


def _axis(name: str, step: int) -> Any:
    """A free axis; the sides of pictures are a whole number of tokens long."""
    return torch.export.Dim(name) if step == 1 else step * torch.export.Dim(f"{name}_in_tokens")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's messages about its internals: what matters to users comes as an exception."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _described(shown: Signature, tokenizer_json: str | None, labels: Sequence[str], marks: Marks) -> Mapping[str, Any]:
    """What weft.json says."""
    out = next(iter(shown.outputs.values()))
    if labels and len(labels) != out.shape[-1]:
        raise ConfigError(f"{len(labels)} labels for a model that tells {out.shape[-1]} apart", where="labels")
    if tokenizer_json is not None and shown.vocab is not None:
        check_tokenizer(tokenizer_json, shown.vocab, where="tokenizer.json")
    return {
        "weft": VERSION,
        "model": type(shown.model).__name__,
        "inputs": written(shown.inputs),
        "outputs": written(shown.outputs),
        "labels": list(labels),
        "marks": marks.write(),
        **shown.note,
    }
