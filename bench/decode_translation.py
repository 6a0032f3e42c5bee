"""Beam search at the shape of the original Transformer: weft against Hugging Face's Marian of the same size.

6+6 layers, 512 wide, 8 heads, 16,000 tokens, beam 5, 16 sentences of 5 to 40 tokens. Weights are random, and every
hypothesis is made to write exactly 24 tokens in all contestants. CTranslate2 takes part where it is installed.
"""

import tempfile
import time
from importlib.util import find_spec

import numpy as np
import torch
from marian import marian, padded
from race import Call, Clock, race
from report import Table, arguments, hand_in, with_bf16
from train_translation import END, PAD, SIZE, VOCAB, sentences

from weft.generate.decode import Decoding, decode
from weft.models.zoo.translation import TRANSLATION_MODELS

NEW, BEAM, SENTENCES = 24, 5, 16


def weft_decode(sources: list[np.ndarray], precision: str) -> Call:
    """weft's decoding as `weft predict` does it; an end token that is never likely keeps it writing."""
    model = TRANSLATION_MODELS["transformer"](SIZE, vocab=VOCAB, dropout=0.0).build().eval()
    how = Decoding(beam=BEAM, precision=precision)

    def run() -> None:
        found = decode(model, sources, end=END, limits=[NEW] * len(sources), how=how)
        assert all(len(best[0].ids) <= NEW for best in found)

    return run


def marian_decode(sources: list[np.ndarray], dtype: torch.dtype) -> Call:
    """`generate` as its users call it."""
    model = marian(SIZE, VOCAB, end=END).eval().to(dtype)
    ids = padded([[*source.tolist(), END] for source in sources], PAD)
    options = {"num_beams": BEAM, "do_sample": False, "min_new_tokens": NEW, "max_new_tokens": NEW}

    @torch.inference_mode()
    def run() -> None:
        model.generate(input_ids=ids, attention_mask=(ids != PAD).long(), **options)

    return run


def ctranslate2_decode(sources: list[np.ndarray], kind: str) -> Call:
    """CTranslate2's `translate_batch` on Marian's weights, turned into its format."""
    import ctranslate2
    from ctranslate2.converters.transformers import MarianMTLoader

    spec = MarianMTLoader().get_model_spec(marian(SIZE, VOCAB, end=END).eval())
    words = [f"w{i}" for i in range(VOCAB)]
    words[END] = "</s>"
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = spec.config.eos_token = "</s>"
    spec.config.unk_token = words[0]
    spec.validate()
    spec.optimize(quantization=kind)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        translator = ctranslate2.Translator(folder, compute_type=kind, intra_threads=torch.get_num_threads())
    lines = [[words[i] for i in (*source.tolist(), END)] for source in sources]

    def run() -> None:
        found = translator.translate_batch(lines, beam_size=BEAM, max_decoding_length=NEW, min_decoding_length=NEW)
        assert all(len(one.hypotheses[0]) == NEW for one in found)

    return run


def beams(sources: list[np.ndarray], rounds: int, clock: Clock, rounded: bool) -> Table:
    """All contestants on some sentences."""
    contestants = {f"weft {kind}": weft_decode(sources, kind) for kind in ("fp32", "int8")}
    contestants["Marian fp32"] = marian_decode(sources, torch.float32)
    if find_spec("ctranslate2"):
        contestants |= {f"CTranslate2 {k}": ctranslate2_decode(sources, k) for k in ("float32", "int8")}
    if rounded:
        contestants |= {
            "weft bf16": weft_decode(sources, "bf16"),
            "Marian bf16": marian_decode(sources, torch.bfloat16),
        }
    timings = race(contestants, rounds=rounds, least=0.0 if rounds == 1 else 1.5, clock=clock)
    ours = timings["weft fp32"]
    lines = [[n, t.best, t.median, ours.best / t.best, ours.median / t.median] for n, t in timings.items()]
    columns = ["beam 5", "seconds, best", "median", "speed, weft fp32 = 1, best", "median"]
    many = f"{len(sources)} sentences" if len(sources) > 1 else "one sentence"
    title = f"Translating {many}, {NEW} tokens each: 6+6 layers, 512 wide, threads: {torch.get_num_threads()}"
    return Table(title, columns, lines)


def measure(*, quick: bool = False, bf16: bool = False, processor: bool = False) -> list[Table]:
    """The race over many sentences, and over one alone."""
    torch.manual_seed(0)
    rounded, note = with_bf16(bf16)
    sources = [source for source, _ in sentences(2 if quick else SENTENCES)]
    clock = time.process_time if processor else time.perf_counter
    tables = [beams(some, 1 if quick else 5, clock, rounded) for some in (sources, sources[:1])]
    note = " ".join([note, "Processor time." if processor else ""]).strip()
    return [tables[0], Table(tables[1].title, tables[1].columns, tables[1].rows, note)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--processor", action="store_true", help="count processor time, where others use the machine")
    given = parser.parse_args()
    hand_in(measure(quick=given.quick, bf16=given.bf16, processor=given.processor), given.json)
