"""Faults of machines that would end a process without a word. Reads one file; imports nothing heavy."""

import os
from pathlib import Path

AMX_LEAF = 0x1D  # where a processor describes its matrix tiles (AMX)
WITHOUT_AMX = "AVX512_CORE_FP16"


def avoid_broken_amx(info: Path = Path("/proc/cpuinfo")) -> None:
    """Keep torch from matrix tiles (AMX) where a virtual machine offers them but hides their description.

    Products in bf16 die there of an illegal instruction. Torch's library asks for this variable at its first product,
    so it has to be set before; a user's own choice is left alone.
    """
    try:
        text = info.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    facts = {name.strip(): value for name, _, value in (line.partition(":") for line in text.splitlines())}
    level = facts.get("cpuid level", "").strip()
    if "amx_tile" in facts.get("flags", "").split() and level.isdecimal() and int(level) < AMX_LEAF:
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", WITHOUT_AMX)
