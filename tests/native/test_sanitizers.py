"""The native tests run once more on kernels that check every address and every operation on integers (ASan, UBSan)."""

import os
import sys
from pathlib import Path

import pytest
from helpers import processes

from weft.native import build

CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1", "-fopenmp")
TESTS = ("native/test_products.py", "generate/test_program.py", "generate/test_program_memory.py",
         "core/test_native_training.py")  # fmt: skip
CHILD = (
    "import sys, pytest, weft.native.loading as door; door.__file__ = sys.argv[1]; sys.exit(pytest.main(sys.argv[2:]))"
)


def runtime() -> str:
    """The libraries that have to be loaded before Python: the sanitizer's, and that of C++ errors, which it wraps."""
    cc = build.compiler()
    if cc is None or sys.platform != "linux":
        pytest.skip("sanitizers are tried on Linux, with a C compiler")
    names = ("libasan.so", "libstdc++.so.6")
    asked = [processes.run([cc, f"-print-file-name={name}"], capture_output=True, text=True) for name in names]
    found = [one.stdout.strip() for one in asked]
    if not all(Path(path).is_absolute() for path in found):
        pytest.skip("the C compiler has no library of its address sanitizer")
    return " ".join(found)


@pytest.mark.slow
def test_native_code_reads_and_writes_only_what_it_may(tmp_path: Path):
    preloaded, folder = runtime(), tmp_path / "native"
    folder.mkdir(mode=0o700)
    made = folder / "kernels.so"
    problem = build.compiled([str(build.compiler()), *build.FLAGS, *CHECKS], made, seconds=900)
    if problem is not None:
        pytest.skip(f"the sanitizers cannot be built in: {problem}")
    build._kept_whole(made, folder)
    environment = {
        **os.environ,
        "WEFT_CACHE": str(tmp_path),
        "LD_PRELOAD": preloaded,
        "ASAN_OPTIONS": f"detect_leaks=0:log_path={tmp_path / 'found'}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={tmp_path / 'found'}",
    }
    tests = [str(Path(__file__).parents[1] / name) for name in TESTS]
    command = [sys.executable, "-c", CHILD, str(tmp_path / "loading.py"), "-x", "-q", "-p", "no:xdist", *tests]
    done = processes.run(command, capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[2])
    found = "\n".join(path.read_text()[:4000] for path in tmp_path.glob("found.*"))  # pytest would swallow it
    assert done.returncode == 0 and not found, f"{found}\n{(done.stdout + done.stderr)[-2000:]}"
    assert "[100%]" in done.stdout
