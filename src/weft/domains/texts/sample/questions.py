"""Lives of persons that ship with weft: passages about two of them, and questions about one. Refuses to know files.

    Clara Norvik, a judge, was born in Belford in May. Hugo Tarov comes from Orstad and paints.
    Where was Clara Norvik born?     Belford

Names are made up of syllables, so that an answer has to be found in its passage.
"""

import random
from pathlib import Path

from weft.domains.texts.reading.questions import PassageQuestion, PassageQuestions
from weft.domains.texts.sample.names import FIELDS, FIRST, OF_PERSONS, OF_PLACES, STARTS, WORDS, pick

SEED = 2016
COUNT = 600  # passages
PERSONS = 2  # in each
SAYINGS = {
    "place": ("{who} was born in {place}.", "{who} comes from {place}.", "The home town of {who} is {place}."),
    "job": ("{who} works as a {job}.", "{who} has been a {job} for years.", "By trade {who} is a {job}."),
    "year": ("{who} was born in {year}.", "{year} is the year in which {who} was born."),
    "firm": ("{who} is employed by {firm}.", "{firm} pays {who}.", "Every day {who} walks to {firm}."),
}
ASKED = {
    "place": ("Where was {who} born?", "Which town does {who} come from?"),
    "job": ("What does {who} do?", "What is the profession of {who}?"),
    "year": ("When was {who} born?", "In which year was {who} born?"),
    "firm": ("Who employs {who}?", "Where does {who} work?"),
}


def asked_passages(count: int = COUNT) -> PassageQuestions:
    """Questions about `count` passages from weft's own grammar, the same ones each time."""
    chance = random.Random(SEED)
    rows = [row for _ in range(count) for row in _passage(chance)]
    return PassageQuestions(rows, (Path("weft-lives"),), (), (), {})


def _passage(chance: random.Random) -> list[PassageQuestion]:
    """A passage, and a question about each thing that it says."""
    said = list[tuple[str, str, str, str]]()  # the sentence, who it is about, what it says and what that is
    for _ in range(PERSONS):
        facts = {
            "who": f"{pick(FIRST, chance)} {pick(STARTS, chance)}{pick(OF_PERSONS, chance)}",
            "place": pick(STARTS, chance) + pick(OF_PLACES, chance),
            "job": pick(WORDS["job"], chance),
            "year": str(1900 + int(100 * chance.random())),
            "firm": f"{pick(STARTS, chance)}{pick(OF_PERSONS, chance)} {pick(FIELDS, chance)}",
        }
        said += [
            (pick(ways, chance).format(**facts), facts["who"], kind, facts[kind]) for kind, ways in SAYINGS.items()
        ]
    order = sorted(said, key=lambda one: chance.random())
    passage, rows, start = " ".join(sentence for sentence, *_ in order), list[PassageQuestion](), 0
    for sentence, who, kind, answer in order:
        question = pick(ASKED[kind], chance).format(who=who)
        rows.append(PassageQuestion(passage, question, (answer,), start + sentence.index(answer)))
        start += len(sentence) + 1
    return rows
