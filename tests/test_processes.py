"""Children of tests begin with the default handling of signals, and all tests start them in one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import processes

TESTS = Path(__file__).parent
STARTED = "import signal; print(signal.getsignal(signal.{name}).name)"
IGNORING = """
import signal, sys
signal.signal(signal.{name}, signal.SIG_IGN)
sys.path.insert(0, sys.argv[1])
from helpers import processes
print(processes.run([sys.executable, "-c", sys.argv[2]], capture_output=True, text=True).stdout)
"""


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_child_hears_signals_that_its_parent_ignores(name: str) -> None:
    code, inner = IGNORING.format(name=name), STARTED.format(name=name)
    done = processes.run([sys.executable, "-c", code, TESTS, inner], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "SIG_DFL"


def test_ctrl_c_reaches_a_child_of_a_parent_that_ignores_it() -> None:
    inner = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    code = IGNORING.format(name="SIGINT")
    done = processes.run([sys.executable, "-c", code, TESTS, inner], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_child_is_the_command_itself() -> None:
    child = processes.start([sys.executable, "-c", "import os; print(os.getpid())"], stdout=subprocess.PIPE, text=True)
    assert child.communicate()[0].strip() == str(child.pid)


def test_every_test_starts_its_children_in_this_way() -> None:
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert file.name == "processes.py" or called not in {
                f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output")
            }, f"{file.name}, line {node.lineno}: use processes.run or processes.start"
