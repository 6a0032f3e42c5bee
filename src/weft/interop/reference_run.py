"""Run in a process of its own: opens a folder by the Hugging Face library and writes down what it computes and answers.

    python reference_run.py FOLDER INPUTS.safetensors OUTPUTS.safetensors [ASKED.json ANSWERS.json]

ASKED.json has `texts`, whose ids are wanted, and may have a `kind` of questions with `inputs` and `settings`. Every
input gets the answers that count as right there: all within TIE of the best. Where a sample may have several labels, it
gets the sure ones and the possible ones, which differ where a value is within TIE of 0. A text that is written token
by token comes with its beginning before the first tie, from which on others are as right. Imports nothing of weft, so
that numbers and answers are the other library's alone, by its own tokenizer, processor and settings.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

TIE = 1e-3  # logits nearer to the best than this may come out in another order


def main(folder: str, inputs: str, outputs: str, asked: str = "", answers: str = "") -> None:
    """Load, compute, answer, write."""
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
        given = load_file(inputs)
        values = computed(model.eval(), given)
        save_file({"values": values.float().contiguous()}, outputs)
        if asked:
            wanted = json.loads(Path(asked).read_text(encoding="utf-8"))
            found = answered(folder, model, wanted)
            Path(answers).write_text(json.dumps(found), encoding="utf-8")


def computed(model: Any, given: dict[str, Any]) -> Any:
    """What a model computes; of one whose result has no logits, those of the decoder inside.

    Of tokens of a picture in front of words there is no value to compare.
    """
    inside: list[Any] = []
    decoder = getattr(model, "text_decoder", None)
    hook = None if decoder is None else decoder.register_forward_hook(lambda part, given, result: inside.append(result))
    result = model(**given)
    if "start_logits" in result:
        return both_ends(result)
    if hook is not None:
        hook.remove()
        result = inside[-1]
    values = next(result[key] for key in ("logits", "logits_per_image", "last_hidden_state") if key in result)
    words = given.get("decoder_input_ids", given.get("input_ids"))
    return values[:, -words.shape[1] :] if values.ndim == 3 and words is not None else values


def both_ends(result: Any) -> Any:
    """The logits of the first and the last token of an answer, side by side."""
    import torch

    return torch.stack([result["start_logits"], result["end_logits"]], -1)


def answered(folder: str, model: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """The ids of texts, and the answers to what is asked."""
    import transformers

    found: dict[str, Any] = {"ids": [], "answers": []}
    if wanted["texts"] or wanted.get("kind") not in (None, "picture label"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        found["ids"] = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in wanted["texts"]]
    kind = wanted.get("kind")
    if kind in ("picture answer", "picture answer text"):
        processor = transformers.AutoImageProcessor.from_pretrained(folder)
        given = []
        for one in wanted["inputs"]:
            words = tokenizer(one["question"], return_tensors="pt", return_token_type_ids=False)
            given.append({**words, **processor(images=opened(one["picture"]), return_tensors="pt")})
        labels = kind == "picture answer"
        found["answers"] = [label(model, one) for one in given] if labels else written(model, tokenizer, given, wanted)
    elif kind in ("picture label", "picture text"):
        processor = transformers.AutoImageProcessor.from_pretrained(folder)
        given = [processor(images=opened(one), return_tensors="pt") for one in wanted["inputs"]]
        labels = kind == "picture label"
        found["answers"] = [label(model, one) for one in given] if labels else written(model, tokenizer, given, wanted)
    elif kind == "blank":
        guess = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer)
        found["answers"] = [filled(guess, text.replace("___", tokenizer.mask_token)) for text in wanted["inputs"]]
    elif kind == "span":
        longest = wanted["settings"]["longest"]
        found["answers"] = [spans(model, tokenizer, one, longest) for one in wanted["inputs"]]
    elif kind == "tags":
        found["answers"] = [tagged(model, tokenizer, words) for words in wanted["inputs"]]
    elif kind is not None:
        given = [tokenizer(text, return_tensors="pt", truncation=kind == "label") for text in wanted["inputs"]]
        labels = kind == "label"
        found["answers"] = [label(model, one) for one in given] if labels else written(model, tokenizer, given, wanted)
    return found


def opened(sent: dict[str, Any]) -> Any:
    """A picture from its bytes."""
    import numpy
    from PIL import Image

    return Image.fromarray(numpy.frombuffer(base64.b64decode(sent["bytes"]), numpy.uint8).reshape(sent["shape"]))


def label(model: Any, given: Any) -> list[Any]:
    """The labels of the greatest values; where several may hold, the sure and the possible; a number for one value."""
    values, names = model(**given).logits[0], model.config.id2label
    if model.config.problem_type == "multi_label_classification":
        return [sorted(names[i] for i, value in enumerate(values.tolist()) if value > edge) for edge in (TIE, -TIE)]
    if len(values) == 1:
        return values.tolist()
    return [names[i] for i, value in enumerate(values.tolist()) if value >= float(values.max()) - TIE]


def written(model: Any, tokenizer: Any, given: Any, wanted: dict[str, Any]) -> list[list[str]]:
    """The texts that are generated, of continuations what is new; then the beginning that no tie could change."""
    found = []
    for i, one in enumerate(given):
        limit = {"max_new_tokens": wanted["limits"][i]} if wanted["limits"] else {}
        made = model.generate(**one, **wanted["settings"], **limit, return_dict_in_generate=True, output_scores=True)
        ids, tie = made.sequences[0], first_tie(made)
        writes_anew = model.config.is_encoder_decoder or hasattr(model, "text_decoder") or "input_ids" not in one
        read = 0 if writes_anew else one["input_ids"].shape[1]
        parts = [ids[:read], ids, *([] if tie is None else [ids[: len(ids) - len(made.scores) + tie]])]
        known, *texts = (tokenizer.decode(part, skip_special_tokens=True) for part in parts)
        found.append([text[len(known) :] for text in texts])
    return found


def first_tie(made: Any) -> int | None:
    """The step at which two tokens were likeliest, or nearly; None where there was none, and for beams."""
    if getattr(made, "sequences_scores", None) is not None:
        return None
    best = (scores[0].topk(2).values.tolist() for scores in made.scores)
    return next((step for step, (first, second) in enumerate(best) if first - second < TIE), None)


def filled(guess: Any, text: str) -> list[str]:
    """The likeliest tokens for the blank that are not special."""
    special = guess.tokenizer.all_special_ids
    best = [one for one in guess(text, top_k=len(special) + 5) if one["token"] not in special]
    return [guess.tokenizer.decode([one["token"]]) for one in best if one["score"] >= best[0]["score"] * (1 - TIE)]


def tagged(model: Any, tokenizer: Any, words: list[str]) -> list[list[str]]:
    """For each word the tags of the greatest values at its first token, which may begin with the space before it."""
    given = tokenizer(" ".join(words), return_tensors="pt", return_offsets_mapping=True, truncation=True)
    places, found, before = given.pop("offset_mapping")[0].tolist(), [], 0
    values = model(**given).logits[0]
    for word in words:
        first = next((i for i, (start, end) in enumerate(places) if end > start and start >= before), None)
        row = None if first is None else values[first]
        near = [] if row is None else (row >= row.max() - TIE).nonzero()[:, 0].tolist()
        found.append([model.config.id2label[i] for i in near])
        before += len(word) + (before > 0)
    return found


def spans(model: Any, tokenizer: Any, given: dict[str, str], longest: int) -> list[str]:
    """The likeliest parts of a passage as answers to a question: all within TIE of the best."""
    read = tokenizer(given["question"], given["context"], return_tensors="pt", return_offsets_mapping=True)
    places, sides = read.pop("offset_mapping")[0].tolist(), read.sequence_ids(0)
    starts, ends = both_ends(model(**read))[0].T.tolist()
    inside = [i for i, side in enumerate(sides) if side == 1]
    pairs = [(starts[i] + ends[j], i, j) for i in inside for j in range(i, min(i + longest, inside[-1] + 1))]
    best = max(value for value, *_ in pairs)
    found = [given["context"][places[i][0] : places[j][1]] for value, i, j in pairs if value >= best - TIE]
    return [text.strip() for text in found]


if __name__ == "__main__":
    main(*sys.argv[1:])
