"""Left never imports right; importing weft is light; the public names are these."""

import ast
import importlib
import os
import re
import sys
from pathlib import Path

import pytest
from helpers import processes

import weft
from weft.domains.registry import CARDS

SOURCE = Path(weft.__file__).parent
# Names in one row do not import each other. `errors` and `version` stand before what raises and shows them.
ORDER = [
    {"errors", "version", "amounts", "machine", "native"},
    {"json_text"},
    {"config", "requirements"},
    {"storage"},
    {"sending"},
    {"relations"},
    {"tokens"},
    {"position"},
    {"core"},
    {"modalities"},
    {"models"},
    {"batches", "files"},
    {"generate"},
    {"objectives"},
    {"training", "inspect", "interop"},
    {"tasks"},
    {"domains"},
    {"runs"},
    {"lab"},
    {"web"},
    {"cli"},
]
LAYER = {name: number for number, row in enumerate(ORDER) for name in row}
FACADE = {"__init__", "__main__"}  # the public names, and `python -m weft`
FILES = {file: file.relative_to(SOURCE).parts for file in sorted(SOURCE.rglob("*.py"))}
# Which other domains a domain may import. `registry` and `recognising` stand above all of them.
DOMAINS: dict[str, set[str]] = {
    "texts": set(),
    "pairs": {"texts"},
    "trees": {"texts", "pairs"},
    "words": {"texts"},
    "pictures": set(),
    "captions": {"pictures", "pairs", "texts"},
    "fields": set(),
    "places": set(),
    "graphs": set(),
}
ABOVE_DOMAINS = {"registry", "recognising"}
TORCH_FREE = ("cards", "settings", "reading", "dataset", "sample")  # roles of a domain
NAMES = [
    "Added", "Hidden", "Pinned", "Predictor", "Replaced", "Run", "Scaled", "Tokens", "Unread", "WeftError", "Without",
    "__version__", "changed", "check", "fit", "load", "record", "train",
]  # fmt: skip


def imports(file: Path) -> set[str]:
    """Every name of weft's that a file imports, at its top, in functions, or for types only."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "weft"}


def layer_of(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


@pytest.mark.parametrize("file", FILES, ids=lambda f: "/".join(FILES[f]))
def test_left_never_imports_right(file: Path):
    mine = layer_of(FILES[file])
    if mine in FACADE:
        return
    assert mine in LAYER, f"{mine} has no place in the order of imports"
    for name in imports(file):
        theirs = name.split(".")[1]
        if theirs in weft.__all__:
            pytest.fail(f"{file.name} imports {name} from the public names: import it from where it is defined")
        assert theirs == mine or LAYER[theirs] < LAYER[mine], f"{'/'.join(FILES[file])} imports {name}"


def task_names(file: Path) -> set[str]:
    """The names of tasks that stand in a file as strings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in CARDS}


def test_what_serves_every_task_knows_none_by_name():
    """Names stand in cards, in tasks, and in the families of other libraries' models, which are data."""
    found = {}
    for file, parts in FILES.items():
        if parts[0] in ("runs", "cli", "web", "interop") and parts[:2] != ("interop", "families"):
            found |= {"/".join(parts): names} if (names := task_names(file)) else {}
    assert found == {
        "runs/demo.py": {"translate"},  # it shows that one task
        "interop/reference_run.py": {"fill-mask"},  # what the other library calls a pipeline of its own
    }


def test_what_serves_every_task_reaches_into_no_domain():
    """Runs and commands ask the registry, and what a task, a data set or a run of it says of itself."""
    found = {}
    for file, parts in FILES.items():
        if parts[0] in ("runs", "cli", "web"):
            inside = {
                name.split(".")[2] for name in imports(file) if re.match(r"weft\.domains\b", name)
            } - ABOVE_DOMAINS
            found |= {"/".join(parts): inside} if inside else {}
    assert found == {"runs/demo.py": {"pairs"}}  # it shows that one task


def test_the_order_is_tried_by_a_file_that_breaks_it(tmp_path: Path):
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    import weft.tasks\n    from weft.training import loop\n")
    assert {name.split(".")[1] for name in imports(file)} == {"tasks", "training"}
    assert LAYER["tasks"] > LAYER["training"] > LAYER["core"] > LAYER["tokens"] > LAYER["config"]


def domain_of(parts: tuple[str, ...]) -> str:
    return parts[1].removesuffix(".py")


@pytest.mark.parametrize(
    "file", [file for file, parts in FILES.items() if parts[0] == "domains"], ids=lambda f: "/".join(FILES[f])
)
def test_a_domain_imports_only_those_it_is_built_on(file: Path):
    mine = domain_of(FILES[file])
    if mine in ABOVE_DOMAINS | {"__init__"}:
        return
    for name in imports(file):
        if name.startswith("weft.domains."):
            theirs = name.split(".")[2]
            assert theirs == mine or theirs in DOMAINS[mine], f"{'/'.join(FILES[file])} imports {name}"


def test_every_domain_has_its_place_in_the_order():
    assert {
        path.name for path in (SOURCE / "domains").iterdir() if path.is_dir() and path.name != "__pycache__"
    } == set(DOMAINS)


FOLDERS = sorted({file.parent for file in FILES})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: str(f.relative_to(SOURCE)))
def test_the_front_of_a_folder_is_a_map_that_names_every_file(folder: Path):
    page = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    inside = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    missing = {name for name in inside - {"__init__", "__main__"} if not re.search(rf"\b{name}\b", page)}
    assert not missing, f"the map of {folder.relative_to(SOURCE)} does not name {', '.join(sorted(missing))}"


def test_few_classes_share_a_name():
    """A reader should need one meaning for a name."""
    homes: dict[str, list[str]] = {}
    for file, parts in FILES.items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append("/".join(parts))
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert len(twice) <= 12, twice


@pytest.mark.parametrize("module", ["weft", "weft.cli.app", "weft.config"])
def test_importing_is_light(module: str):
    heavy = {"torch", "numpy", "tokenizers", "matplotlib", "safetensors"}
    code = f"import sys, {module}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_model_is_made_ready_and_steps_without_torchs_compiler():
    code = """if True:
        import sys, torch
        from helpers import tiny
        from weft.generate.session import Session
        from weft.models.outline import outline
        for name in tiny.ZOO:
            config = tiny.LANGUAGE_MODELS[name](tiny.SIZE, vocab=tiny.VOCAB)
            assert all(p.is_meta for p in outline(config).parameters())
            with torch.inference_mode():
                Session(config.build().eval()).start([[1, 2, 3]])
        for name in tiny.PAIR_ZOO:
            outline(tiny.translation_config(name))
        print(*sorted({"sympy", "torch._dynamo", "torch._inductor"} & set(sys.modules)))
    """
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, str(Path(weft.__file__).parents[1])])}
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == []


def test_a_process_that_opens_runs_knows_every_part_of_a_model():
    code = """if True:
        import importlib, pkgutil, weft.config, weft.runs.run
        known = set(weft.config._parts)
        for package in ("modalities", "core", "position"):
            for found in pkgutil.iter_modules(importlib.import_module(f"weft.{package}").__path__, f"weft.{package}."):
                importlib.import_module(found.name)
        print(*sorted(set(weft.config._parts) - known))
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == []


def test_a_process_that_opens_runs_loads_of_domains_their_words_alone():
    """What reads, encodes or computes is loaded with the task of the run that is opened, and with no other."""
    code = "import sys, weft.runs.run; print(*(name for name in sys.modules if name.startswith('weft.domains.')))"
    environment = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    found = {tuple(name.split(".")[2:]) for name in done.stdout.split()}
    words = {(domain, role) for domain in DOMAINS for role in ("cards", "settings")}
    assert found <= {(name,) for name in ABOVE_DOMAINS | set(DOMAINS)} | words
    assert {(domain, "cards") for domain in DOMAINS} <= found


def test_the_public_names_are_these():
    assert weft.__all__ == NAMES == sorted(NAMES)
    assert dir(weft) == NAMES
    for name in NAMES:
        assert getattr(weft, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        weft.trian  # noqa: B018


@pytest.mark.parametrize("package", ["position", "core", "models", "models.zoo", "generate", "objectives"])
def test_the_names_of_a_package_are_sorted_and_exist(package: str):
    module = importlib.import_module(f"weft.{package}")
    assert module.__all__ == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("file", FILES, ids=lambda f: "/".join(FILES[f]))
def test_every_file_says_what_it_is_for(file: Path):
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
