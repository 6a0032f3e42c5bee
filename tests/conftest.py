"""Every test starts from the same seeds, on one thread, with the shapes of all public tensor arguments checked."""

import gc
import os
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import disks, drawings, fresh, references, shape_checks
from hypothesis import settings
from threadpoolctl import threadpool_limits

from weft.config import Config

# Shapes such as Float[Tensor, "B H Q d"] are checked while tests run: of these modules, imported below.
CHECKED = [
    "weft.core",
    "weft.domains.pictures.encoded.augment",
    "weft.domains.pictures.encoded.geometry",
    "weft.domains.pictures.encoded.tone",
    "weft.domains.texts.encoded.whole_texts",
    "weft.domains.texts.encoded.masking",
    "weft.batches.windows",
    "weft.domains.fields.codec.first_guess",
    "weft.domains.fields.encoded.windows",
    "weft.modalities.field",
    "weft.generate",
    "weft.domains.captions.encoded.captions",
    "weft.domains.pictures.encoded.batches",
    "weft.domains.pictures.encoded.frames",
    "weft.inspect.rollout",
    "weft.modalities.convnet",
    "weft.modalities.embedder",
    "weft.modalities.image",
    "weft.modalities.text",
    "weft.models",
    "weft.objectives",
    "weft.position",
    "weft.tokens",
    "weft.training.muon",
]


def _define(cls: type[Config], *, define=Config.__init_subclass__.__func__, **options) -> None:
    define(cls, **options)
    cls.__init__.__no_type_check__ = True  # configs check their own fields, and tests look at how


gc.disable()  # until all tests are collected: what is imported stays, and is looked through again and again
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # SciPy brings products of its own, later than the limit below
Config.__init_subclass__ = classmethod(_define)
shape_checks.install(CHECKED)
disks.without_waiting()

settings.register_profile("weft", deadline=None, derandomize=True, database=None)
settings.load_profile("weft")
torch.set_num_threads(1)
threadpool_limits(1)  # threads of numpy's products wait by spinning: two test processes on two cores lose minutes to it


# Tests that start commands by fork, send POSIX signals or draw on a terminal cannot run on Windows.
POSIX = re.compile(
    r"^from helpers(?: import|\.)(?:.*\b)?(?:commands|fresh|processes)\b"
    r"|^(?:import|from) (?:pty|fcntl|resource)\b|\bos\.(?:fork|mkfifo|getuid|geteuid)\b",
    re.M,
)


def needing_posix() -> list[str]:
    """The files of tests that need more than Windows has."""
    found = Path(__file__).parent.rglob("test_*.py")
    return [str(path) for path in found if POSIX.search(path.read_text(encoding="utf-8"))]


# Folders whose files take long. They come first, so that no worker is left with a long file when the other has ended.
LONG = ("laws", "runs", "domains", "tasks", "cli", "training", "parity", "campaigns", "interop", "files", "generate")


def place_in_order(item: pytest.Item) -> int:
    """The place of a test's folder in the order of the run."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return LONG.index(folder) if folder in LONG else len(LONG)


def pytest_sessionstart() -> None:
    """What takes long and has tests of its own is left out of all others."""
    from helpers import pictures  # now: what it imports is checked

    drawings.without_drawing()
    pictures.decoded_here()
    references.forked()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first."""
    items.sort(key=place_in_order)


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


collect_ignore = needing_posix() if sys.platform == "win32" else []


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same random numbers in every test, whatever ran before; shapes are checked anew."""
    shape_checks.begin_test()
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)  # torch.manual_seed notes the stack for each kind of device that is absent


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fresh.Fresh]:
    """What forks a process of its own for each call: one for all tests, since it loads libraries for seconds."""
    made = fresh.Fresh(tmp_path_factory.mktemp("home"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright; tests that need it are skipped where either is missing."""
    driving = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium")
    with driving.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    return folder
