"""Run in a process of its own: opens model.onnx by onnxruntime and writes down what it computes.

    python onnx_reference_run.py FOLDER INPUTS.safetensors OUTPUTS.safetensors

Inputs are called `trial.name`, outputs `trial`. Imports nothing of weft's.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any


def main(folder: str, inputs: str, outputs: str) -> None:
    """Load, compute, write."""
    import onnxruntime
    from safetensors.numpy import load_file, save_file

    onnxruntime.set_default_logger_severity(4)  # errors come as exceptions
    session = onnxruntime.InferenceSession(Path(folder) / "model.onnx", providers=["CPUExecutionProvider"])
    trials: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, values in load_file(inputs).items():
        trial, _, name = key.partition(".")
        trials[trial][name] = values
    save_file({trial: session.run(None, given)[0] for trial, given in trials.items()}, outputs)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # their reasons run over several lines, and one is passed on
        raise SystemExit(" ".join(str(error).split())) from None
