"""What is installed, and what builds and tests it, is named exactly: by version, by digest, by commit."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\\n]+)", re.M)


def pins(text: str) -> dict[str, str]:
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PIN.findall(text)}


def test_the_lock_has_the_versions_of_the_constraints_each_with_digests():
    lock = (ROOT / "requirements.lock").read_text()
    known, locked = pins((ROOT / "constraints.txt").read_text()), pins(lock)
    assert len(locked) > 100 and {name: known.get(name) for name in locked} == locked, "run: python lock.py"
    for block in re.split(r"\n(?=[a-z])", lock)[1:]:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}$", block, re.M), block


def test_the_lock_has_all_that_weft_asks_for_but_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for some in project["optional-dependencies"].values() for one in some)]
    bench = project["optional-dependencies"]["bench"]
    names = {re.split(r"[\[<>=;!~ ]", one)[0].lower().replace("_", "-") for one in asked if one not in bench}
    assert names - set(pins((ROOT / "requirements.lock").read_text())) == {"torch", "weft"}


def test_what_builds_weft_is_pinned_as_in_the_constraints():
    known = pins((ROOT / "constraints.txt").read_text())
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert needed and all(known[name] == version for name, version in (one.split("==") for one in needed))


def test_actions_of_ci_are_named_by_commit():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text())
        assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", one) for one in used)
