"""Run in a process of its own: opens model.onnx by onnxruntime and writes down what it computes.

    python onnx_reference_run.py FOLDER INPUTS.safetensors OUTPUTS.safetensors

Inputs are called `trial.name`, outputs likewise. Imports nothing of weft's.
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
    names = [output.name for output in session.get_outputs()]
    found = {trial: session.run(names, given) for trial, given in trials.items()}
    save_file(
        {f"{trial}.{name}": v for trial, values in found.items() for name, v in zip(names, values, strict=True)},
        outputs,
    )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # their reasons run over several lines, and one is passed on
        raise SystemExit(" ".join(str(error).split())) from None
