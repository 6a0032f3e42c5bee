"""Writing with a published Llama of 260 thousand weights, one row, greedy: weft, CTranslate2 and Hugging Face.

    python bench/stories.py FOLDER

FOLDER is the model as Hugging Face saves it (karpathy/tinyllamas, stories260K). All must write the same tokens.
Processor time is counted where others use the machine too: `--processor`.
"""

import copy
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from race import race
from report import Table, arguments, hand_in
from torch import nn

from weft.generate import Sampling, Session
from weft.generate.sampling import generator
from weft.generate.search import Drawing, Line, search
from weft.interop.reading import read_folder
from weft.models.stream import Stream
from weft.native import state

START = 1


def write(model: Stream, new: int) -> list[int]:
    """Tokens written by weft."""
    how = Sampling(temperature=0.0, max_tokens=new)
    line = Line([START], (), new, generator(0))
    search(Session(model, capacity=new + 1), [line.prompt], Drawing([line], how))
    return line.ids


@torch.inference_mode()
def write_peer(model: nn.Module, new: int) -> list[int]:
    """Tokens written by Hugging Face's `generate`."""
    prompt = torch.tensor([[START]])
    sizes = {"max_new_tokens": new, "min_new_tokens": new, "pad_token_id": 0}
    made = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, **sizes)
    return made[0, 1:].tolist()


def ctranslate2_writer(model: nn.Module) -> Callable[[int], list[int]]:
    """CTranslate2's `generate_batch` on Hugging Face's weights, turned into its format."""
    import ctranslate2
    from ctranslate2.converters.transformers import LlamaLoader

    spec, words = LlamaLoader().get_model_spec(copy.deepcopy(model)), [str(i) for i in range(model.config.vocab_size)]
    spec.register_vocabulary(words)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = words[1], words[2], words[0]
    spec.validate()
    spec.optimize(quantization="float32")
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        writer = ctranslate2.Generator(folder, compute_type="float32", intra_threads=1)

    def run(new: int) -> list[int]:
        sizes = {"max_length": new, "min_length": new, "include_prompt_in_result": False}
        (made,) = writer.generate_batch([[words[START]]], beam_size=1, sampling_topk=1, **sizes)
        return made.sequences_ids[0]

    return run


def measure(folder: Path, *, quick: bool = False, processor: bool = False) -> list[Table]:
    """Tokens a second of all contestants."""
    from transformers import LlamaForCausalLM

    torch.set_num_threads(1)  # the fastest for all of them
    new, rounds = (40, 2) if quick else (200, 7)
    peer, own = LlamaForCausalLM.from_pretrained(folder).eval(), read_folder(folder).model
    peer.generation_config.eos_token_id = None
    contestants = {
        "weft": partial(write, own, new),
        "CTranslate2": partial(ctranslate2_writer(peer), new),
        "Hugging Face": partial(write_peer, peer, new),
    }
    texts = [call() for call in contestants.values()]
    assert all(text == texts[0] for text in texts), f"they wrote different texts: {texts}"
    clock = time.process_time if processor else time.perf_counter
    timings = race(contestants, rounds=rounds, least=0.05 if quick else 0.3, clock=clock)
    theirs = timings["CTranslate2"]
    lines = [
        [n, new / t.best, new / t.median, theirs.best / t.best, theirs.median / t.median] for n, t in timings.items()
    ]
    columns = ["writing", "tokens/s, best", "median", "CTranslate2 = 1, best", "median"]
    title = f"stories260K, {new} tokens, greedy, one thread; native: {state()}"
    return [Table(title, columns, lines, "Processor time." if processor else "")]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path, help="the model's folder")
    parser.add_argument("--processor", action="store_true", help="count processor time, where others use the machine")
    given = parser.parse_args()
    hand_in(measure(given.folder, quick=given.quick, processor=given.processor), given.json)
