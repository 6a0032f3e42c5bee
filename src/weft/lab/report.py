"""The report of all claims: a guide to the command, a table of verdicts, and a chapter for each claim, as Markdown."""

from collections.abc import Sequence
from datetime import date

from weft.amounts import duration
from weft.lab.experiment import Experiment, experiments
from weft.lab.pages import facts_of, number, repeated
from weft.lab.running import Result

TITLE = "# The lectures' claims, tried"
GUIDE = """
Lectures on transformers claim much that can be checked on a laptop. `weft lab` does: each of fifteen claims is an
experiment that draws its figure, gives a number with its interval over random seeds, and says whether the claim holds
here.

```
weft lab                                  # the claims, what each compares and how long it takes
weft lab heads -o heads.html              # runs one, by name or id (D4); .html, .png, .svg or .json
weft lab longer --set lengths=64,256,1024 --minutes 5
weft lab memorise --data letters.txt      # on your own text
weft lab all -o report/                   # all of them as one report, this page; goes on where it was stopped
weft lab all --sets 5 -o report/          # with five times the seeds: is each set of them judged alike?
```

```python
from weft.lab.experiment import experiment
from weft.lab.running import run

result = run(experiment("temperature"), seeds=3)
print(result.verdict.word, result.verdict.mean, result.command)
```

**The verdict** follows a rule that stands in each experiment and was written down before anything was measured: the
claim *holds* if the whole 95 % interval of the effect over seeds lies above a bound, it *does not hold* if it lies
below, and otherwise it is *not decided*; nor is it where one of several disjoint sets of seeds says the opposite of
another. More seeds (`--seeds 10`) or more time (`--minutes 5`) narrow the interval. A
claim that does not hold on your machine or data is shown as such.

**Each experiment is one file** of at most 100 lines in `weft/lab/claims`, written to be read in class: what is said,
what is compared, the settings (`--set`), and the measurement of one seed, with parts of weft that you can use yourself.
Some take a file of yours (`--data`): {data}.
"""


def report(results: Sequence[Result], machine: str, pictures: str) -> str:
    """The guide and all results as one page; `pictures` is where the figures are, seen from it."""
    data = ", ".join(f"`{one.claim.name}`" for one in experiments() if one.takes_data)
    parts = [TITLE, _joined(GUIDE.format(data=data)), "## What was found", _measured(results, machine), _table(results)]
    found = {one.experiment.claim.name: one for one in results}
    for experiment in experiments():
        parts += _head(experiment)
        name = experiment.claim.name
        parts += _chapter(found[name], pictures) if name in found else [f"Not measured yet: `weft lab {name}`."]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _head(experiment: Experiment) -> list[str]:
    """The beginning of a chapter: what is said, and what is done."""
    claim = experiment.claim
    return [f"## {claim.id} {claim.name}", f"**{claim.says}** ({claim.source})", _joined(experiment.told)]


def _joined(guide: str) -> str:
    """Paragraphs on one line each, code as it stands."""
    blocks = guide.strip().split("\n\n")
    inside, out = False, []
    for block in blocks:
        code = inside or block.startswith("```")
        inside = inside != (block.count("```") % 2 == 1)
        out.append(block if code else block.replace("\n", " "))
    return "\n\n".join(out)


def _measured(results: Sequence[Result], machine: str) -> str:
    seconds = sum(one.seconds for one in results)
    usual = sum(one.seconds / len(one.outcomes) * one.experiment.claim.seeds for one in results)
    return (
        f"Written by `weft lab all` on {date.today():%Y-%m-%d}, on {machine}: {duration(seconds)} of processor time, "
        f"{duration(usual)} with the usual number of seeds. Intervals are of 95 %, over seeds. Where there are several "
        "disjoint sets of the usual number of seeds, a column says how many of them have the verdict of all."
    )


def _table(results: Sequence[Result]) -> str:
    rows = [
        f"| [{one.experiment.claim.id} {one.experiment.claim.name}](#{_anchor(one)}) | {one.experiment.claim.says} "
        f"| {one.verdict.word} | {number(one)} | {_sets(one)} | {duration(one.seconds / len(one.outcomes))} |"
        for one in results
    ]
    head = "| claim | what is said | verdict | found | sets alike | a seed |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def _sets(result: Result) -> str:
    """How many disjoint sets of seeds have the verdict of all seeds."""
    same = sum(word == result.verdict.word for word in result.sets)
    return f"{same} of {len(result.sets)}" if result.sets else ""


def _chapter(result: Result, pictures: str) -> list[str]:
    claim = result.experiment.claim
    facts = [f"{name} {mean:.3g}" for name, mean, *_ in facts_of(result)]
    said = f"{claim.effect[0].upper()}{claim.effect[1:]}: **{number(result)}**; {claim.rule}."
    beside = [f"Beside it: {'; '.join(facts)}."] if facts else []
    again = [f"{repeated(result).capitalize()}."] if result.sets else []
    return [
        f"![{claim.says}]({pictures}/{claim.name}.png)",
        " ".join([said, f"**{result.verdict.word.capitalize()}.**", *again, *beside, claim.note]),
        f"```\n{result.command}\n```",
    ]


def _anchor(result: Result) -> str:
    return f"{result.experiment.claim.id}-{result.experiment.claim.name}".lower()
