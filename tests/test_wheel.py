"""The wheel and the source archive that pip installs: all of the package is in them, the compiled kernels in the wheel,
and both work in an environment outside of the clone.
"""

import os
import re
import shutil
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from helpers import processes

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "src")
KERNELS = "weft/native/_kernels.so"
BIN = "Scripts" if sys.platform == "win32" else "bin"
# Nothing of this environment but the network's absence: no PYTHONPATH, no settings of pip's.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))},
    "OMP_NUM_THREADS": "1",
    "PIP_NO_INDEX": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}

pytestmark = pytest.mark.slow
compiled = pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform == "win32", reason="no gcc or clang to build the kernels with"
)


def call(*words: str | Path, folder: Path) -> str:
    done = processes.run(list(map(str, words)), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a package is made of, as a clone has it: a build leaves files beside the sources."""
    copy = tmp_path_factory.mktemp("copy")
    left_out = shutil.ignore_patterns("_kernels*", "__pycache__", "*.egg-info")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


def built(source: Path, out: Path, **environment: str) -> tuple[Path, str]:
    """The wheel of a folder or a source archive, as `make wheel` makes it, and what was said."""
    words = ["-m", "pip", "wheel", "-v", "--no-build-isolation", "--no-deps", "--no-cache-dir", "--wheel-dir"]
    done = processes.run(
        [sys.executable, *words, str(out), str(source)],
        cwd=out, env=ENVIRONMENT | environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (found,) = out.glob("weft-*.whl")
    return found, done.stdout + done.stderr  # what a build says is on the second


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(sources, tmp_path_factory.mktemp("dist"))[0]


@pytest.fixture(scope="module")
def archive(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive (sdist), made by the build backend."""
    out = tmp_path_factory.mktemp("source")
    call(sys.executable, "-c", f"import setuptools.build_meta as b; b.build_sdist({str(out)!r})", folder=sources)
    (found,) = out.glob("weft-*.tar.gz")
    return found


def environment(wheel: Path, place: Path) -> Path:
    """A fresh environment with a wheel; the libraries that weft stands on are those of this one."""
    venv.create(place, with_pip=True, symlinks=sys.platform != "win32")
    python = place / BIN / "python"
    call(python, "-m", "pip", "install", "--no-deps", wheel, folder=place)
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=place).strip())
    # Paths of a .pth file are searched, but .pth files in them are not: an editable weft there stays unseen.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(wheel, tmp_path_factory.mktemp("environment"))


def packed_files(sources: Path) -> set[str]:
    """The files of the package in a copy of its sources, a library that was built there apart."""
    found = {p.relative_to(sources / "src").as_posix() for p in (sources / "src/weft").rglob("*") if p.is_file()}
    return {name for name in found if "__pycache__" not in name and name != KERNELS}


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return {name for name in packed.namelist() if name.startswith("weft/")}


def native(python: Path, folder: Path) -> str:
    """Where the native library is, or why there is none; one of the cache does not count."""
    code = "from weft.native import library, state; print(library().path if library() else state())"
    words, empty = [str(python), "-c", code], {"WEFT_CACHE": str(folder / "cache"), "CC": "false"}
    return processes.run(words, cwd=folder, env=ENVIRONMENT | empty, capture_output=True, text=True).stdout.strip()


@compiled
def test_every_file_of_the_package_is_in_the_wheel_with_the_compiled_kernels(sources: Path, wheel: Path):
    assert names(wheel) == packed_files(sources) | {KERNELS}
    assert "-py3-none-" in wheel.name and not wheel.name.endswith("-any.whl")


@compiled
def test_the_kernels_of_the_wheel_are_those_that_are_loaded(installed: Path, tmp_path: Path):
    found = native(installed / BIN / "python", tmp_path)
    assert Path(found).is_relative_to(installed) and found.endswith(KERNELS)


def test_the_source_archive_has_all_that_a_build_needs(sources: Path, archive: Path):
    with tarfile.open(archive) as packed:
        found = {name.split("/", 1)[1] for name in packed.getnames() if "/" in name}
    assert {f"src/{name}" for name in packed_files(sources)} <= found
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE", "PKG-INFO"} <= found
    assert {"src/weft/native/kernels/library.c", "src/weft/native/kernels/program.h"} <= found
    assert not any("_kernels" in name for name in found)


def test_the_source_archive_installs_without_a_compiler_and_says_so(archive: Path, tmp_path: Path):
    made, said = built(archive, tmp_path, CC="false")
    assert "weft: no native kernels" in said
    assert KERNELS not in names(made)
    place = environment(made, tmp_path / "environment")
    assert "not used: the compiler refused" in native(place / BIN / "python", tmp_path)
    code = "import weft, torch; print(weft.__version__, weft.train(task='sets', steps=1, quiet=True, out='run'))"
    assert call(place / BIN / "python", "-c", code, folder=tmp_path)


@compiled
def test_a_compiler_without_openmp_builds_the_kernels_for_one_thread(sources: Path, tmp_path: Path):
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\nfor word; do [ "$word" = -fopenmp ] && exit 1; done\nexec cc "$@"\n', encoding="utf-8"
    )
    compiler.chmod(0o755)
    shutil.copytree(sources, tmp_path / "copy", ignore=shutil.ignore_patterns("build", "_kernels*"))
    made, said = built(tmp_path / "copy", tmp_path, CC=str(compiler))
    assert KERNELS in names(made) and "no native kernels" not in said


def test_the_page_of_an_index_has_no_link_into_the_clone(wheel: Path):
    text = metadata(wheel).split("\n\n", 1)[1]
    assert "weft train letters.xlsx --minutes 5" in text
    assert not re.findall(r"\]\((?!https?:)", text)
    assert "Author: The weft developers" in metadata(wheel)


def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (n for n in packed.namelist() if n.endswith(".dist-info/METADATA"))
        return packed.read(name).decode("utf-8")


def test_the_wheel_asks_for_what_pyproject_asks_for(wheel: Path):
    import tomllib

    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = metadata(wheel)
    for library in asked["dependencies"]:
        assert f"Requires-Dist: {library}\n" in said
    for extra in asked["optional-dependencies"]:
        assert f"Provides-Extra: {extra}\n" in said


def test_the_demo_works_where_the_wheel_is_installed(installed: Path, tmp_path: Path):
    python, weft = installed / BIN / "python", installed / BIN / "weft"
    home = call(python, "-c", "import weft; print(weft.__file__)", folder=tmp_path).strip()
    assert Path(home).is_relative_to(installed)
    said = call(weft, "demo", "--minutes", "0.05", "--out", "run", folder=tmp_path)
    assert "translations of sentences that it never saw" in said
    assert (tmp_path / "run" / "model.safetensors").exists() and (tmp_path / "run" / "alignment.png").exists()
    assert call(weft, "predict", "run", "The old doctor sees the red car.", folder=tmp_path).strip()
