"""`weft doctor`: what this machine can do, measured, and what would make it faster."""

import os
import platform
import shutil
import time
from typing import Any

import torch

from weft.core.threads import one_thread
from weft.generate.compute import prepared
from weft.generate.programs import unknown_part
from weft.generate.session import Session
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.parsing import next_word
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.native import library, state
from weft.training.devices import pick_device
from weft.training.precision import name_of, pick_precision, product_rate
from weft.version import VERSION

WORTH_ROUNDING = 1.3  # int8 is advised where it is more than this many times as fast
STEPS = 20  # steps timed for each precision


def examine() -> dict[str, Any]:
    """Facts and advice."""
    device = pick_device()
    exact, rounded = (product_rate(device, dtype, 768) for dtype in (torch.float32, torch.bfloat16))
    parts = decoders()
    facts: dict[str, Any] = {
        "weft": VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": device.type,
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gb": _memory(),
        "free_disk_gb": round(shutil.disk_usage(".").free / 1e9, 1),
        "fp32_gflops": round(exact / 1e9),
        "bf16_gflops": round(rounded / 1e9),
        "fp32_products": "exact" if torch.get_float32_matmul_precision() == "highest" else "TF32",
        "memory_read_gb_per_s": _bandwidth(),
        "native_code": state(),
        "native_decoders": ", ".join(name for name, unknown in parts.items() if not unknown),
        "decoders_by_modules": ", ".join(f"{name} ({part})" for name, part in parts.items() if part),
        "int8_speedup": _int8_speedup(),
        "precision": name_of(pick_precision("auto", device)),
    }
    facts["advice"] = _advice(facts)
    return facts


def _advice(facts: dict[str, Any]) -> list[str]:
    advice = []
    if facts["device"] == "cpu":
        advice.append("no GPU found: models are sized for this processor, and train in minutes rather than hours")
    if facts["precision"] == "fp16":
        advice.append("bf16 products are not faster here, fp16 products are: training uses them, with an fp32 copy of "
                      "the weights and a loss that is scaled")  # fmt: skip
    elif facts["precision"] == "fp32":
        advice.append("bf16 products are not faster here, so training uses fp32; a processor with AVX-512 BF16 or AMX "
                      "would train two to three times as fast")  # fmt: skip
    else:
        advice.append("bf16 products are fast here: training uses them, with an fp32 copy of the weights")
    if facts["device"] == "cuda" and facts["fp32_products"] == "exact":
        advice.append("fp32 products of matrices are exact (TF32 is off); in Python, "
                      "torch.set_float32_matmul_precision('high') makes them faster and rounds to 10 bits")  # fmt: skip
    if facts["threads"] < facts["cores"]:
        advice.append(f"only {facts['threads']} of {facts['cores']} cores are used: unset OMP_NUM_THREADS")
    if library() is None:
        advice.append(
            "models write by torch alone; with a C compiler (cc) weft builds kernels that write several times as fast"
        )
    if facts["int8_speedup"] > WORTH_ROUNDING:
        advice.append(
            f"models of GPT-2's width write {facts['int8_speedup']:g} times as fast with --set precision=int8; "
            "where it was measured, on small models, held-out loss rose by less than 0.001 (docs/speed.md)"
        )
    if facts["free_disk_gb"] < 2:
        advice.append("less than 2 GB of free disk: checkpoints of large models may not fit")
    return advice


def decoders() -> dict[str, str]:
    """The decoders of the zoo, each with the part that keeps it from native code; nothing for those that it knows."""
    size, found = Size(dim=8, depth=2, heads=2, context=8), dict[str, str]()
    for name, config in LANGUAGE_MODELS.items():
        found[f"language-model {name}"] = unknown_part(config(size, vocab=8).build().eval())
    pairs = {f"translate {name}": pair(size, vocab=8) for name, pair in TRANSLATION_MODELS.items()}
    pairs["parse next-word"] = next_word(size, vocab=8, words=(1,), symbols=8, leaf=1)
    eye = VisionSize(dim=8, depth=1, heads=2, patch=4, net=small_net(8, (0, 1)))
    for name, writer in CAPTION_MODELS.items():
        pairs[f"caption {name}"] = writer(CAPTION_ENCODERS[name](eye, Sight(8, 8), outputs=None), size, vocab=8)
    return found | {name: unknown_part(pair.build().eval().target) for name, pair in pairs.items()}


@torch.inference_mode()
def _int8_speedup() -> float:
    """How many times as fast a decoder of GPT-2's width writes with its weights in eight bits.

    Rounds alternate, on one thread: where others use the processors too, threads that wait for each other tell nothing.
    """
    model = LANGUAGE_MODELS["gpt"](Size(dim=768, depth=2, heads=12, context=64), vocab=1024).build().eval()
    sessions = {precision: Session(prepared(model, precision)) for precision in ("fp32", "int8")}  # type: ignore[arg-type]
    best = dict.fromkeys(sessions, float("inf"))
    with one_thread():
        for session in sessions.values():
            session.start([[0]])
        for _ in range(STEPS):
            for precision, session in sessions.items():
                start = time.perf_counter()
                session.step(torch.zeros(1, dtype=torch.long))
                best[precision] = min(best[precision], time.perf_counter() - start)
    return round(best["fp32"] / best["int8"], 1)


def _bandwidth() -> float:
    block = torch.ones(64 * 2**20 // 4)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        block.sum()
        best = min(best, time.perf_counter() - start)
    return round(block.nbytes / best / 1e9, 1)


def _memory() -> float | None:
    if not hasattr(os, "sysconf"):
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
