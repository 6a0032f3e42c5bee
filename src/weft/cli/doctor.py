"""`weft doctor`: what this machine can do, measured, and what would make it faster."""

import os
import platform
import shutil
import time
from typing import Any

import torch

from weft.training.precision import MIN_BF16_SPEEDUP, pick_device, product_rate
from weft.version import VERSION


def examine() -> dict[str, Any]:
    """Facts and advice."""
    device = pick_device()
    exact, rounded = (product_rate(device, dtype, 768) for dtype in (torch.float32, torch.bfloat16))
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
        "memory_read_gb_per_s": _bandwidth(),
        "precision": "bf16" if rounded > MIN_BF16_SPEEDUP * exact else "fp32",
    }
    facts["advice"] = _advice(facts)
    return facts


def _advice(facts: dict[str, Any]) -> list[str]:
    advice = []
    if facts["device"] == "cpu":
        advice.append("no GPU found: models are sized for this processor, and train in minutes rather than hours")
    if facts["precision"] == "fp32":
        advice.append("bf16 products are not faster here, so training uses fp32; a processor with AVX-512 BF16 or AMX "
                      "would train two to three times as fast")  # fmt: skip
    else:
        advice.append("bf16 products are fast here: training uses them, with an fp32 copy of the weights")
    if facts["threads"] < facts["cores"]:
        advice.append(f"only {facts['threads']} of {facts['cores']} cores are used: unset OMP_NUM_THREADS")
    if facts["free_disk_gb"] < 2:
        advice.append("less than 2 GB of free disk: checkpoints of large models may not fit")
    return advice


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
