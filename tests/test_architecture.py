"""Left never imports right; importing weft is light; the public names are these."""

import ast
import importlib
import os
import sys
from pathlib import Path

import processes
import pytest

import weft
from weft.domains.registry import CARDS

SOURCE = Path(weft.__file__).parent
# Names in one row do not import each other. `errors` and `version` stand before what raises and shows them.
ORDER = [
    {"errors", "version", "amounts", "machine", "native"},
    {"config", "requirements"},
    {"storage"},
    {"relations"},
    {"tokens"},
    {"position"},
    {"core"},
    {"modalities"},
    {"codecs"},
    {"models", "data"},
    {"generate"},
    {"objectives"},
    {"training", "inspect", "interop"},
    {"tasks"},
    {"domains"},
    {"runs"},
    {"cli", "web"},
]
LAYER = {name: number for number, row in enumerate(ORDER) for name in row}
FACADE = {"__init__", "__main__"}  # the public names, and `python -m weft`
FILES = {file: file.relative_to(SOURCE).parts for file in sorted(SOURCE.rglob("*.py"))}
# Files of general packages that know one domain: texts, pairs, trees, words, pictures, captions, fields, places or graphs.
OF_ONE_DOMAIN = {
    "inspect": {
        *("texts", "reading", "nearest", "translation", "tree_view", "tree_crown", "word_map"),
        *("vision", "learned", "learned_view", "picture_reading", "captioning", "answering", "attention_inside"),
        *("picture_words", "picture_words_film", "picture_words_page", "picture_words_sheet", "picture_words_view"),
        *("word_occlusion", "fieldattention", "fieldfilm", "fieldmaps", "fieldseries", "fieldsheets", "placereading"),
        *("placeview", "skill", "winds", "panels", "graphs", "graph_drawing"),
    },
    "objectives/measures": {
        *("tags", "translation", "words", "captions", "caption_words", "answers", "looking", "dineof"),
        *("field_baselines", "field_scores", "field_table", "gap_baselines", "interpolation"),
    },
    "generate": {"fields", "trees", "gap_trees"},
}
NAMES = ["Run", "Tokens", "WeftError", "__version__", "check", "fit", "load", "record", "train"]


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


def test_the_order_is_tried_by_a_file_that_breaks_it(tmp_path: Path):
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    import weft.tasks\n    from weft.training import loop\n")
    assert {name.split(".")[1] for name in imports(file)} == {"tasks", "training"}
    assert LAYER["tasks"] > LAYER["training"] > LAYER["core"] > LAYER["tokens"] > LAYER["config"]


@pytest.mark.parametrize(
    "package, own",
    [(package, file) for package, files in OF_ONE_DOMAIN.items() for file in sorted(files)],
)
def test_what_is_one_domains_own_is_known_to_no_general_file(package: str, own: str):
    folder = SOURCE / package
    assert (folder / f"{own}.py").exists()
    general = [file for file in folder.glob("*.py") if file.stem not in OF_ONE_DOMAIN[package]]
    name = f"weft.{package.replace('/', '.')}.{own}"
    knowing = [file.stem for file in general if any(f"{one}.".startswith(f"{name}.") for one in imports(file))]
    assert not knowing, f"{name} is imported by {', '.join(knowing)}"


def test_the_drawing_kit_knows_no_codec_and_no_data():
    kit = [file for file in (SOURCE / "inspect").glob("*.py") if file.stem not in OF_ONE_DOMAIN["inspect"]]
    assert {"views", "figures", "matrix", "maps", "steps"} <= {file.stem for file in kit}
    knowing = {file.stem for file in kit for name in imports(file) if name.split(".")[1] in ("codecs", "data")}
    assert not knowing


@pytest.mark.parametrize("module", ["weft", "weft.cli.app", "weft.config"])
def test_importing_is_light(module: str):
    heavy = {"torch", "numpy", "tokenizers", "matplotlib", "safetensors"}
    code = f"import sys, {module}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_model_is_made_ready_and_steps_without_torchs_compiler():
    code = """if True:
        import sys, torch, tiny
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


def test_a_process_that_opens_runs_loads_no_reader_of_files():
    code = "import sys, weft.runs.run; print(*(name for name in sys.modules if name.startswith(('weft.data.samples', 'weft.data.images.reading'))))"
    environment = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == []


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
