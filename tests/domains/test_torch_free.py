"""What is asked of a task before it is trained loads no torch: its card, its settings, its reader, and reading data.

One process tries all tasks with an import of torch refused, so that a task's fault is its own and not another's.
"""

import json
import sys

import pytest
from helpers import processes
from helpers.trials import TRIALS

CODE = """if True:
    import json, sys, traceback

    class Refusing:
        asked = []

        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("torch", "jaxtyping"):
                self.asked.append(name)
                raise ImportError(f"{name} is asked for")

    sys.meta_path.insert(0, Refusing())
    from weft.domains.registry import CARDS

    found = {}
    for name, sources in json.loads(sys.argv[1]).items():
        Refusing.asked.clear()
        try:
            card = CARDS[name]
            card.training()
            if sources:
                card.reader.read(sources, None, card.training())
            else:
                card.reader
            found[name] = "\\n".join(Refusing.asked)
        except Exception:
            found[name] = traceback.format_exc()
    print(json.dumps(found))
"""
NEEDING = {"forecast"}  # packages that themselves look for torch; the reader is made, and reads nothing


@pytest.fixture(scope="module")
def faults() -> dict[str, str]:
    """For each task what went wrong without torch, in one process for all."""
    given = {name: [] if name in NEEDING else [str(path) for path in trial.data] for name, trial in TRIALS.items()}
    done = processes.run([sys.executable, "-c", CODE, json.dumps(given)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", TRIALS)
def test_a_tasks_card_settings_and_data_load_no_torch(name: str, faults: dict[str, str]) -> None:
    assert faults[name] == ""
