"""Run in a process of its own: opens a folder by the Hugging Face library and writes down what it computes.

    python reference_run.py FOLDER INPUTS.safetensors OUTPUTS.safetensors [TEXTS.json IDS.json]

Imports nothing of weft's, so that the numbers are the other library's alone.
"""

import json
import sys
from pathlib import Path


def main(folder: str, inputs: str, outputs: str, texts: str = "", ids: str = "") -> None:
    """Load, compute, write."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    transformers.logging.set_verbosity_error()
    name = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))["architectures"][0]
    kind = getattr(transformers, name)
    model, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    report["missing_keys"] = [name for name in report["missing_keys"] if "pooler." not in name]  # no part of the values
    odd = {key: sorted(map(str, names)) for key, names in report.items() if names}
    if odd:
        raise SystemExit(f"not every weight found its place: {odd}")
    with torch.inference_mode():
        result = model.eval()(**load_file(inputs))
    values = next(result[key] for key in ("logits", "logits_per_image", "last_hidden_state") if key in result)
    save_file({"values": values.float().contiguous()}, outputs)
    if texts:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        found = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in json.loads(Path(texts).read_text())]
        Path(ids).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
