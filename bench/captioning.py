"""Writing about pictures: weft against Hugging Face's VisionEncoderDecoderModel (ViT and GPT-2) with the same weights.

ViT-S/16 at 224 pixels (384 wide, 12 layers, 6 heads) and a decoder of 6 layers of that width, 10,000 tokens, captions
of 12 to 20 tokens. First a training step on one batch: weft runs `Fit.step`, the step of its training loop, which draws
and augments its batch; the peer the usual hand-written loop on a batch that is ready. Then captions of exactly 16
tokens, by greedy search and with a beam of 3, and the time that reading the pictures takes by itself. Before the race
both must give the same logits and the same captions.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from fitting import fit_step
from marian import padded
from race import Call, Clock, Timing, race
from report import Table, arguments, hand_in, with_bf16
from torch import nn
from torch.nn import functional as F

from weft.domains.captions.encoded.captions import SeenCaptions, captioned_pictures
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.seen import SeenPictures, codec_for
from weft.domains.pictures.reading.arrays import album_of
from weft.domains.texts.codec.text import TextCodec
from weft.generate.compute import prepared
from weft.generate.decode import Decoding, written
from weft.interop import read_folder
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.modalities.tokenizer_making import train as make_tokenizer
from weft.models.seq2seq import Seq2Seq
from weft.objectives import TargetToken
from weft.training.settings import Training

SIDE, VOCAB, PICTURES, NEW = 224, 10_000, 64, 16
END, PAD, NEVER = 256, VOCAB - 1, -1  # END is that of a tokenizer of bytes; an end that is NEVER written
SEARCHES = {"greedy": 1, "beam 3": 3}


def peer_model() -> nn.Module:
    """Their encoder–decoder, without dropout, with torch's fused attention."""
    from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    eyes = ViTConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536)
    hand = GPT2Config(
        vocab_size=VOCAB, n_positions=64, n_embd=384, n_layer=6, n_head=6, embd_pdrop=0.0, attn_pdrop=0.0,
        resid_pdrop=0.0, add_cross_attention=True, is_decoder=True, bos_token_id=END, eos_token_id=END,
    )  # fmt: skip
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(eyes, hand)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = END, PAD, END
    return VisionEncoderDecoderModel(config=config)


def same_in_weft(peer: nn.Module) -> Seq2Seq:
    """Their model as weft reads it."""
    with tempfile.TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        model = read_folder(Path(folder)).model
    assert isinstance(model, Seq2Seq)
    return model


def random_captions(rows: int) -> list[list[np.ndarray]]:
    """One caption of 12 to 20 random tokens, 16 in the mean, for each picture."""
    draw = np.random.default_rng(0)
    return [[draw.integers(END + 1, PAD, length)] for length in draw.integers(12, 21, rows)]


def captioned_noise(rows: int) -> SeenCaptions:
    """Pictures of noise with captions."""
    pixels = np.random.default_rng(0).integers(0, 256, (rows, SIDE, SIDE, 3), np.uint8)
    album, texts = album_of("random", pixels), random_captions(rows)
    data = PictureData(train=album, held_out=album, fingerprint="random", rule="", described="")
    seen = SeenPictures.of(data, codec_for(album, SIDE, SIDE), 3)
    text = TextCodec.of(make_tokenizer("bytes", []), "caption")
    return SeenCaptions(**vars(seen), text=text, captions=texts, held_captions=texts, context=64, long=0)


def weft_step(model: Seq2Seq, rows: int, precision: str) -> Call:
    """One step of weft's training loop, on pictures that are augmented as a run would."""
    source = captioned_pictures(captioned_noise(rows), 1, how=Augment.light(flip=False), stride=16, seed=0)
    training = Training(optimizer="adamw", lr=1e-4, batch=rows, precision=precision)
    return fit_step(model, TargetToken.Config().build(), source, training)


def peer_step(model: nn.Module, rows: int, *, autocast: bool = False) -> Call:
    """Forward, backward, update."""
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)
    pixels = torch.rand(rows, 3, SIDE, SIDE)
    ids = padded([[END, *caption.tolist(), END] for (caption,) in random_captions(rows)], PAD)
    labels = ids[:, 1:].masked_fill(ids[:, 1:] == PAD, -100)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(pixel_values=pixels, decoder_input_ids=ids[:, :-1], use_cache=False).logits
        F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def weft_read(model: Seq2Seq, pixels: torch.Tensor, precision: str) -> Call:
    """The pictures as tokens, without a word."""
    used, picture = prepared(model.eval(), precision), Picture(pixels)
    return torch.inference_mode()(lambda: used.memorise(picture))


def peer_read(model: nn.Module, pixels: torch.Tensor) -> Call:
    """The same by the peer's encoder."""
    encoder = model.eval().encoder
    return torch.inference_mode()(lambda: encoder(pixel_values=pixels))


def weft_write(model: Seq2Seq, pixels: torch.Tensor, beam: int, precision: str) -> Callable[[], list[list[int]]]:
    """Captions as `weft predict` finds them."""
    used, picture = prepared(model.eval(), precision), Picture(pixels)
    how, rows = Decoding(beam=beam, length_penalty=0.0), len(pixels)

    @torch.inference_mode()
    def run() -> list[list[int]]:
        found = written(used, used.memorise(picture), end=NEVER, opening=[END], limits=[NEW] * rows, how=how,
                        keys=[[]] * rows)  # fmt: skip
        return [list(best[0].ids) for best in found]

    return run


def peer_write(model: nn.Module, pixels: torch.Tensor, beam: int) -> Callable[[], list[list[int]]]:
    """`generate` as its users call it."""
    options = {"num_beams": beam, "do_sample": False, "min_new_tokens": NEW, "max_new_tokens": NEW,
               "length_penalty": 0.0}  # fmt: skip
    model.eval()

    @torch.inference_mode()
    def run() -> list[list[int]]:
        return model.generate(pixel_values=pixels, **options)[:, 1:].tolist()

    return run


def check_same(ours: Seq2Seq, peer: nn.Module) -> None:
    """Refuse to race models that compute something else."""
    pixels, ids = torch.rand(2, 3, SIDE, SIDE), torch.randint(END + 1, PAD, (2, NEW))
    with torch.inference_mode():
        theirs = peer.eval()(pixel_values=2 * pixels - 1, decoder_input_ids=ids).logits
        found = ours.eval()(Picture(pixels), Text(ids))
    assert (found - theirs).abs().max() < 1e-3, "the models give different logits"


def table(title: str, timings: dict[str, Timing], rows: int, note: str) -> Table:
    """Seconds of a batch, and how fast each is beside weft in fp32."""
    ours = timings["weft fp32"]
    lines = [[n, t.best, t.median, ours.best / t.best, ours.median / t.median] for n, t in timings.items()]
    columns = ["model", "seconds, best", "median", "speed, weft fp32 = 1, best", "median"]
    return Table(f"{title}, {rows} pictures", columns, lines, note)


def measure(
    *, quick: bool = False, bf16: bool = False, rows: int = PICTURES, rounds: int = 5, clock: Clock = time.perf_counter
) -> list[Table]:
    """All races."""
    torch.manual_seed(0)
    rows, rounds = (2, 1) if quick else (rows, rounds)
    run = partial(race, rounds=rounds, least=0.0, clock=clock)
    rounded, note = with_bf16(bf16)
    peer = peer_model()
    model = same_in_weft(peer)
    check_same(model, peer)
    pixels = torch.rand(rows, 3, SIDE, SIDE)
    tables = []
    reading = {"weft fp32": weft_read(model, pixels, "fp32"), "Hugging Face fp32": peer_read(peer, 2 * pixels - 1)}
    tables.append(table("Reading pictures, ViT-S/16", run(reading), rows, note))
    for name, beam in SEARCHES.items():
        theirs, ours = peer_write(peer, 2 * pixels - 1, beam), weft_write(model, pixels, beam, "fp32")
        assert ours() == theirs(), f"{name}: the captions differ"
        writing: dict[str, Call] = {"weft fp32": ours, "Hugging Face fp32": theirs}
        tables.append(table(f"Writing {NEW} tokens, {name}", run(writing), rows, note))
    steps = {"weft fp32": weft_step(same_in_weft(peer), rows, "fp32"), "Hugging Face fp32": peer_step(peer, rows)}
    if rounded:
        steps |= {
            "weft bf16": weft_step(same_in_weft(peer), rows, "bf16"),
            "Hugging Face bf16 autocast": peer_step(peer_model(), rows, autocast=True),
        }
    tables.append(table("A training step", run(steps), rows, note))
    return tables


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--pictures", type=int, default=PICTURES, help=f"in a batch; {PICTURES} by default")
    parser.add_argument("--rounds", type=int, default=5, help="5 by default")
    parser.add_argument("--cpu", action="store_true", help="count the processor's time, where others use the machine")
    given = parser.parse_args()
    clock = time.process_time if given.cpu else time.perf_counter
    hand_in(
        measure(quick=given.quick, bf16=given.bf16, rows=given.pictures, rounds=given.rounds, clock=clock), given.json
    )
