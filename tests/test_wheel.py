"""The wheel that pip installs: all of the package is in it, and it works in an environment outside of the clone."""

import os
import shutil
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from helpers import processes

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")
BIN = "Scripts" if sys.platform == "win32" else "bin"
# Nothing of this environment but the network's absence: no PYTHONPATH, no settings of pip's.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))},
    "OMP_NUM_THREADS": "1",
    "PIP_NO_INDEX": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}

pytestmark = pytest.mark.slow


def call(*words: str | Path, folder: Path) -> str:
    done = processes.run(list(map(str, words)), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as `make wheel` does, from a copy: a build leaves files beside the sources."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        take = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        take(ROOT / name, copy / name)
    call(
        sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", out, copy, folder=out
    )
    (found,) = out.glob("weft-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; the libraries that weft stands on are those of this one."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=True, symlinks=sys.platform != "win32")
    python = place / BIN / "python"
    call(python, "-m", "pip", "install", "--no-deps", wheel, folder=place)
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=place).strip())
    # Paths of a .pth file are searched, but .pth files in them are not: an editable weft there stays unseen.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return place


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path):
    sources = ROOT / "src"
    known = {p.relative_to(sources).as_posix() for p in (sources / "weft").rglob("*") if p.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("weft/")}
    assert packed == {name for name in known if "__pycache__" not in name}


def test_the_wheel_asks_for_what_pyproject_asks_for(wheel: Path):
    import tomllib

    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode("utf-8")
    for library in asked["dependencies"]:
        assert f"Requires-Dist: {library}\n" in metadata
    for extra in asked["optional-dependencies"]:
        assert f"Provides-Extra: {extra}\n" in metadata


def test_the_demo_works_where_the_wheel_is_installed(installed: Path, tmp_path: Path):
    python, weft = installed / BIN / "python", installed / BIN / "weft"
    home = call(python, "-c", "import weft; print(weft.__file__)", folder=tmp_path).strip()
    assert Path(home).is_relative_to(installed)
    said = call(weft, "demo", "--minutes", "0.05", "--out", "run", folder=tmp_path)
    assert "translations of sentences that it never saw" in said
    assert (tmp_path / "run" / "model.safetensors").exists() and (tmp_path / "run" / "alignment.png").exists()
    assert call(weft, "predict", "run", "The old doctor sees the red car.", folder=tmp_path).strip()
