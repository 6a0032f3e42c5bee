"""What looking inside and changing cost: time with recording and neutral changes, an ablation grid, memory by length.

    OMP_NUM_THREADS=1 taskset -c 1 python bench/looking.py

recording, neutral    12 layers x 12 heads over 512 tokens: time over that of a plain pass (goal 1.05)
grid                  each of 144 heads off, over 16 tokens: time over that of a pass over 144 x 16 tokens (goal 1.3)
steering              a vector added after every layer: time of a written token over that without, by both ways of steps
memory                the peak of a look, told or as a page, at twice as many tokens over that at some (goal 2.2)
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from weft.core import Added, Scaled, changed, record
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.attention import LookAtPlace, look_at_place
from weft.domains.pictures.views.vision import PictureView
from weft.generate import Session
from weft.inspect.effects import ablation
from weft.inspect.reading import ReadingView
from weft.inspect.study import stream_study
from weft.inspect.views import View
from weft.modalities.field import FieldWindow
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.models.zoo.fields import FIELD_MODELS, FieldSize
from weft.models.zoo.vision import VISION_MODELS, Sight, VisionSize

LAYERS, HEADS, WIDTH, VOCAB = 12, 12, 384, 1000
ALL = ("readings", "states", "branches")


def model(width: int = WIDTH, depth: int = LAYERS, heads: int = HEADS, context: int = 512) -> Stream:
    """A GPT-2 with random weights."""
    torch.manual_seed(0)
    return (
        LANGUAGE_MODELS["gpt"](Size(dim=width, depth=depth, heads=heads, context=context), vocab=VOCAB).build().eval()
    )


def ids(rows: int, length: int) -> torch.Tensor:
    """Random tokens."""
    return torch.randint(0, VOCAB, (rows, length), generator=torch.Generator().manual_seed(1))


def ratio(one: Callable[[], Any], other: Callable[[], Any], rounds: int) -> float:
    """The median over rounds of the time of one over that of the other, taken in turn."""
    one(), other()
    found = []
    for _ in range(rounds):
        times = []
        for call in (one, other):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        found.append(times[0] / times[1])
    return round(statistics.median(found), 3)


@torch.inference_mode()
def times(rounds: int) -> dict[str, float]:
    """Time with recording, and with changes that change nothing, over that of a plain pass."""
    net, text = model(), Text(ids(1, 512))
    neutral = [Scaled(layer + 1, head=head + 1, factor=1.0) for layer in range(LAYERS) for head in (0, 5)]

    def plain() -> None:
        net(text)

    def recorded() -> None:
        with record(net, ALL):
            net(text)

    def unchanged() -> None:
        with changed(net, *neutral):
            net(text)

    return {
        "plain / plain": ratio(plain, plain, rounds),
        "recording all / plain": ratio(recorded, plain, rounds),
        "24 neutral changes / plain": ratio(unchanged, plain, rounds),
    }


@torch.inference_mode()
def grid(rounds: int) -> dict[str, float]:
    """Time of an ablation grid over that of one pass over as many tokens."""
    net = model()
    study = stream_study(net, Text(ids(1, 16)), names=["t"] * 16, label=str, place=16)
    many = Text(ids(LAYERS * HEADS, 16))
    return {"grid of 144 heads / pass": ratio(lambda: ablation(study), lambda: net.encode(many), rounds)}


@torch.inference_mode()
def steering(rounds: int) -> dict[str, float]:
    """Time of written tokens with a vector added after every layer, over that without."""
    net = model()
    added = [Added(layer + 1, vector=(0.01,) * WIDTH) for layer in range(LAYERS)]

    def plain(natively: bool = True) -> None:
        session = Session(net)
        session.program = session.program if natively else None
        session.start([[1, 2, 3, 4]])
        for _ in range(32):
            session.step(torch.tensor([5]))

    def steered(natively: bool = True) -> None:
        with changed(net, *added):
            plain(natively)

    return {
        "steered / plain steps": ratio(steered, plain, rounds),
        "steered by modules / plain steps": ratio(lambda: steered(False), plain, rounds),
    }


def text_look(tokens: int) -> View:
    """A text of random tokens."""
    net = model(64, 2, 2, context=16384)
    return ReadingView(net, Text(ids(1, tokens)), [f"t{n}" for n in range(tokens)], "random tokens")


def picture_look(tokens: int) -> View:
    """Noise, of patches of 4 x 4 pixels in 32 rows."""
    high, wide = 4 * 32, tokens // 8
    size = VisionSize(dim=64, depth=2, heads=2, patch=4)
    net = VISION_MODELS["vit"](size, Sight(high, wide), outputs=2).build().eval()
    pixels = torch.rand(1, 3, high, wide, generator=torch.Generator().manual_seed(1))
    return PictureView(net, Picture(pixels), (255 * pixels[0].permute(1, 2, 0)).byte().numpy())


def map_look(tokens: int) -> View:
    """A field of noise on a globe, of patches of 2 x 2 cells, two layers and two times of 16 rows."""
    grid = FieldGrid(np.linspace(85, -85, 32), np.arange(tokens // 32) * (360 * 32 / tokens), "sphere", True)
    net = FIELD_MODELS["atmorep"](
        FieldSize(dim=64, depth=2, heads=2, patch=2, halo=1), layers=2, times=2, wraps=True
    ).build()
    made, shape = torch.Generator().manual_seed(1), (1, 2, 2, *grid.shape)
    known, time = torch.ones(shape, dtype=torch.bool), torch.arange(2.0)[None]
    values, doubt = torch.randn(shape, generator=made), torch.zeros(shape)
    window = FieldWindow(values, known, doubt, time, time, time, torch.randn(1, 3, *grid.shape, generator=made))
    layers = (FieldLayer("z", 500.0), FieldLayer("z", 850.0))
    return look_at_place(net.eval(), window, grid, layers, ("before", "now"), LookAtPlace())


LOOKS: dict[str, tuple[Callable[[int], View], int]] = {  # a look of so large an input, and the smaller of two sizes
    "text": (text_look, 8000),
    "picture": (picture_look, 4096),
    "map": (map_look, 4096),
}


def peak(scene: str, tokens: int, page: bool) -> float:
    """The megabytes that a look takes at its peak, beyond what was there: told, or written as a page."""
    seen, done, make = [0.0], threading.Event(), LOOKS[scene][0]
    first = make(512)  # a first one, so that everything is loaded
    first.page() if page else first.text()
    before = resident()

    def watch() -> None:
        while not done.wait(0.002):
            seen[0] = max(seen[0], resident())

    watching = threading.Thread(target=watch)
    watching.start()
    view = make(tokens)
    view.page() if page else view.text()
    done.set()
    watching.join()
    return seen[0] - before


def resident() -> float:
    """The megabytes that this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def memory() -> dict[str, float]:
    """Peaks of two lengths, each in a process of its own, and their ratio."""
    found = {}
    for scene, (_, small) in LOOKS.items():
        for page in (False, True):
            both = []
            for tokens in (small, 2 * small):
                words = [sys.executable, __file__, "--peak", scene, str(tokens), *(["--page"] if page else [])]
                both.append(float(subprocess.run(words, capture_output=True, text=True, check=True).stdout))
            name = f"{scene}{', page' if page else ''}"
            found |= {f"{name}: MB of {small} tokens": round(both[0], 1)}
            found |= {f"{name}: twice as many": round(both[1] / both[0], 2)}
    return found


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peak", nargs=2, metavar=("SCENE", "TOKENS"), help="only the peak of one look")
    parser.add_argument("--page", action="store_true", help="of its page")
    parser.add_argument("--memory", action="store_true", help="only the peaks")
    parser.add_argument("--rounds", type=int, default=9)
    said = parser.parse_args()
    if said.peak:
        print(peak(said.peak[0], int(said.peak[1]), said.page))
        return
    if said.memory:
        print(json.dumps(memory(), indent=2))
        return
    torch.set_num_threads(1)
    for figures in (
        lambda: times(said.rounds),
        lambda: grid(max(3, said.rounds // 3)),
        lambda: steering(said.rounds),
        memory,
    ):
        print(json.dumps(figures(), indent=2), flush=True)


if __name__ == "__main__":
    main()
