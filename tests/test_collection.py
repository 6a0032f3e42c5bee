"""Tests have the same names in every process: pytest-xdist refuses workers that collect different ones."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import processes

ROOT = Path(__file__).parents[1]
ANOTHER_SECOND = 1.1  # seconds, so that the two collections never begin in the same one


def collecting(places: tuple[str, ...], hash_seed: str) -> subprocess.Popen[str]:
    """A process that lists the tests of some folders."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-n", "0", *places]
    return processes.start(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def names(process: subprocess.Popen[str]) -> list[str]:
    """What a process has listed."""
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return [line for line in output.splitlines() if "::" in line]


@pytest.mark.slow  # pytest-xdist compares the names that its workers collect in every run
@pytest.mark.parametrize("places", [("tests/cli", "tests/data"), ()], ids=["cli and data", "all"])
def test_tests_have_the_same_names_at_another_time_and_with_another_hash_seed(places: tuple[str, ...]) -> None:
    first = collecting(places, "1")
    time.sleep(ANOTHER_SECOND)
    second = collecting(places, "2")
    found = names(first)
    assert len(found) > 500
    assert found == names(second)
