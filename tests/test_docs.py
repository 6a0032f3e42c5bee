"""The code in README and docs runs as it stands, block after block, in an empty folder."""

import re
import sys
import types
from contextlib import nullcontext
from pathlib import Path

import pytest
from helpers import processes
from helpers.plugins import SERIES, installed

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = DOCS / "index.md"  # shows docs/README.md, and lists the pages for Sphinx
PAGES = [ROOT / "README.md", *sorted(set(DOCS.glob("*.md")) - {SITE})]


def blocks(page: Path, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


LONG = (
    "answers",
    "captions",
    "translation",
    "weather",
    "places",
)  # measure a model on all that is held out of a sample
RUN = [
    pytest.param(p, marks=[pytest.mark.slow] * (p.stem in LONG), id=p.stem) for p in PAGES if p.exists() and blocks(p)
]


@pytest.mark.parametrize("page", RUN)
def test_the_code_on_a_page_runs(page: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentence = "Once upon a time there was a weaver who carried a thread across the loom. "
    Path("book.txt").write_text(sentence * 60, encoding="utf-8")
    module = types.ModuleType(f"page_{page.stem.lower()}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with installed() if page.stem == "extending" else nullcontext():
        for code in blocks(page):
            exec(compile(code, str(page), "exec"), module.__dict__)


def test_the_readme_is_short_and_leads_to_the_lectures_and_their_claims():
    readme = ROOT / "README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 120
    assert {"docs/lectures.md", "docs/lab.md", "docs/README.md"} <= links(readme)


def bare(code: str) -> str:
    """Lines of code without indentation and blank lines, so that a method can be quoted without its class."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def test_what_is_quoted_of_a_package_stands_in_it():
    files = [bare(path.read_text(encoding="utf-8")) for path in sorted(SERIES.rglob("*.py"))]
    quoted = blocks(ROOT / "docs" / "extending.md", "py")
    assert len(quoted) > 4
    for code in quoted:
        assert any(bare(code) in file for file in files), code


def links(page: Path) -> set[str]:
    """The files that a page points at, as it names them."""
    return set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")))


def test_the_index_leads_to_every_page():
    index = DOCS / "README.md"
    pages = {page.name for page in PAGES[1:]} - {index.name}
    assert pages <= links(index), f"docs/README.md does not name {sorted(pages - links(index))}"


def test_the_site_lists_every_page_and_notebook():
    listed = re.findall(r"^(?:.* <)?([\w/-]+)>?$", SITE.read_text(encoding="utf-8").split("```", 2)[2], re.M)
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for e in ("md", "ipynb") for p in DOCS.rglob(f"*.{e}")}
    wanted = pages - {"README", "index"}
    assert sorted(listed) == sorted(wanted), f"docs/index.md lacks or repeats {sorted(set(listed) ^ wanted)}"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_for_nothing_on_the_network(tmp_path):
    pytest.importorskip("sphinx")
    words = ["-q", "-W", "-d", tmp_path / "trees", "-c", DOCS / "site", DOCS, tmp_path / "site"]
    processes.run([sys.executable, "-m", "sphinx", *map(str, words)], check=True)
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = r"<(?:script|img|iframe|link(?![^>]*canonical))[^>]*(?:src|href)=.https?:[^>]*>"
        assert not re.findall(loaded, page.read_text(encoding="utf-8")), page
    index = (tmp_path / "site" / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(") and "rotari" in index  # a script, which opens from disk; stems of words


def recipes() -> dict[str, str]:
    """The recipes for schedulers of docs/scaling.md, by the word that only one of them has."""
    found = blocks(DOCS / "scaling.md", "")
    return {word: next(code for code in found if word in code) for word in ("#SBATCH", "apiVersion", "num_nodes")}


SCHEDULED = {"SLURM_JOB_NODELIST": "a", "SLURM_JOB_ID": "7", "SKYPILOT_NUM_NODES": "4", "SKYPILOT_NODE_RANK": "0",
             "SKYPILOT_NUM_GPUS_PER_NODE": "8", "SKYPILOT_NODE_IPS": "a"}  # fmt: skip
PRINTS = """#!/bin/bash
printf '%s\\n' "${0##*/}" "$@"
"""


def torchrun_of(script: str, tmp_path: Path) -> list[str]:
    """The words that a script gives to torchrun: bash runs it with commands that only print their words."""
    for name in ("srun", "torchrun", "scontrol", "head"):
        (tmp_path / name).write_text(PRINTS)
        (tmp_path / name).chmod(0o755)
    command = ["/bin/bash", "-eu", "-c", f"PATH={tmp_path}\n{script}"]
    done = processes.run(command, text=True, capture_output=True, check=True, env=SCHEDULED)
    return [word for word in done.stdout.split("torchrun\n", 1)[1].split("\n") if word]


def test_recipes_for_schedulers_are_read_by_their_languages_and_call_weft_by_words_that_it_knows(tmp_path: Path):
    yaml = pytest.importorskip("yaml")
    import typer

    from weft.cli.app import app

    found = recipes()
    job, service = yaml.safe_load_all(found["apiVersion"])
    assert (job["kind"], service["kind"]) == ("Job", "Service")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["subdomain"] == service["metadata"]["name"] and service["spec"]["selector"] == {"job-name": "weft"}
    assert [one["name"] for one in pod["volumes"]] == [one["name"] for one in container["volumeMounts"]]
    scripts = found["#SBATCH"], yaml.safe_load(found["num_nodes"])["run"]
    train = typer.main.get_command(app).commands["train"]  # type: ignore[attr-defined]
    for words in (container["command"], *(torchrun_of(script, tmp_path) for script in scripts)):
        start = words.index("-m")
        assert words[start : start + 3] == ["-m", "weft", "train"], words
        given = train.make_context("train", words[start + 3 :]).params
        assert given["resume"] and sorted(given["set_"]) == ["parallel=shard", "replicas=4"]


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: p.stem)
def test_links_and_pictures_on_a_page_exist(page: Path):
    for target in links(page):
        assert (page.parent / target).exists(), f"{page.name} points at {target}, which does not exist"


@pytest.mark.slow
def test_the_notebook_runs_with_one_bar_for_each_training(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("sklearn")
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        bars = [out for out in cell.outputs if "<progress" in out.get("data", {}).get("text/html", "")]
        assert len(bars) == ("weft.train" in cell.source), cell.source
        if "look(" in cell.source and "save" not in cell.source and "view =" not in cell.source:
            shown = cell.outputs[-1].data["text/html"]
            assert shown.startswith("<iframe sandbox"), cell.source
    assert (tmp_path / "alignment.png").exists() and (tmp_path / "alignment.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention-by-hand", "rnn-to-transformer", "what-is-a-token"])
def test_a_teaching_notebook_runs_and_says_what_its_text_says(name, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("sklearn")
    notebook = nbformat.read(ROOT / "docs" / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert any("image/png" in out.get("data", {}) for out in outputs)
    said = "".join(out.get("text", "") for out in outputs)
    wanted = {
        "attention-by-hand": "bank after  tensor([1.29, 0.64, 1.52, 0.17])",
        "rnn-to-transformer": "transformer   1.00  1.00  1.00",
        "what-is-a-token": "v+e (4 times)",
    }
    assert wanted[name] in said


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: p.stem)
def test_links_to_a_part_of_a_page_lead_to_a_heading(page: Path):
    for target, part in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        text = ((page.parent / target) if target else page).read_text(encoding="utf-8")
        heads = re.findall(r"^#+ (.+)$", text, re.M)
        known = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
        assert part in known, f"{page.name} points at {target}#{part}, which has no such heading"
