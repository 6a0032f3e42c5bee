"""Trees that ship with weft: a small grammar of English, and sentences drawn from it. Refuses to know files and models.

What the verb is decides what the sentence is made of, so that counting words is not enough to parse it:

    The clerk (put (the lamp) (on the table))       verbs of placing take the place with them
    The clerk (liked (the lamp (on the table)))     others leave it to the noun
    The clerk (cut (the rope) (with a knife))       a tool goes with work,
    The clerk (met (the sailor (with a knife)))     but with a person who is met
    The clerk (picked (up) (the lamp))              a particle
    The clerk (climbed (up (the stairs)))           a preposition

No sentence of the grammar has two trees.
"""

import random
import re

from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import Tree, leaves, sentence

SHORTEST, LONGEST = 4, 15  # words, with the full stop
SEED = 2015

# {name} is drawn; {name:VB} also gives this form to the verbs in it that have none yet (V past/plain).
# What stands twice is twice as likely.
PHRASES = {
    "start": (
        "(S {subject} {action:VBD} (. .))",
        "(S {subject} {action:VBD} (. .))",
        "(S {subject} {action:VBD} (. .))",
        "(S {subject} (ADVP {manner}) {action:VBD} (. .))",
        "(S {subject} (VP {action:VBD} (CC {and}) {action:VBD}) (. .))",
        "(S (S {subject} {action:VBD}) (, ,) (CC but) (S {subject} {action:VBD}) (. .))",
        "(S (SBAR {while} (S {subject} {short:VBD})) (, ,) {subject} {action:VBD} (. .))",
        "(S {subject} (VP (VBD {said}) (SBAR (IN that) (S {subject} {action:VBD}))) (. .))",
        "(S {one} (VP (VBD was) (ADJP {quality})) (. .))",
        "(S {subject} (VP (MD {will}) {action:VB}) (. .))",
        "(SQ (VBD did) {subject} {action:VB} (. ?))",
        "(SQ (MD {will}) {subject} {action:VB} (. ?))",
        "(SBARQ (WHNP (WP who)) (SQ {action:VBD}) (. ?))",
        "(SBARQ (WHNP (WP what)) (SQ (VBD did) {subject} (VP {like:VB})) (. ?))",
        "(SBARQ (WHADVP {when}) (SQ (VBD did) {subject} {action:VB}) (. ?))",
    ),
    "subject": ("{one}", "{one}", "{one}", "{one}", "{one}", "(NP (NP {name}) (CC and) (NP {the} {person}))"),
    "one": (
        "(NP {name})",
        "(NP {the} {person})",
        "(NP {the} {person})",
        "(NP {the} (JJ {tall}) {person})",
        "(NP (NP {the} {person}) (PP {from} {place}))",
        "(NP (NP {the} {person}) (SBAR (WHNP (WP who)) (S {short:VBD})))",
        "(NP (NP {the} {person}) (SBAR (WHNP (WP whom)) (S (NP {name}) (VP {meet:VBD}))))",
    ),
    "short": (
        "(VP {sleep})",
        "(VP {sleep} (ADVP {manner}))",
        "(VP {like} {plain})",
        "(VP {climb} (PP {up} (NP (DT the) (NN stairs))))",
        "(VP {lift} {plain})",
    ),
    "action": (
        "{short}",
        "{short}",
        "(VP {like} {thing})",
        "(VP {put} {plain} (PP {on} {spot}))",
        "(VP {put} {plain} (PP {on} {spot}))",
        "(VP {put} {plain} (PP {on} (NP {spot} (PP {from} {place}))))",
        "(VP {like} (NP {plain} (PP {on} {spot})))",
        "(VP {like} (NP {plain} (PP {on} {spot})))",
        "(VP {cut} {plain} (PP (IN with) {tool}))",
        "(VP {cut} {plain} (PP (IN with) {tool}))",
        "(VP {meet} (NP (NP {the} {person}) (PP (IN with) {tool})))",
        "(VP {meet} (NP (NP {the} {person}) (PP (IN with) {tool})))",
        "(VP {give} (NP {name}) {plain})",
        "(VP {give} {plain} (PP (TO to) (NP {the} {person})))",
        "(VP {climb} (PP {up} {slope}))",
        "(VP {lift} {thing})",
    ),
    "thing": (
        "{plain}",
        "(NP {plain} (SBAR (WHNP (WDT that)) (S (NP {name}) (VP {like:VBD}))))",
        "(NP {plain} (SBAR (WHNP (WDT that)) (S (NP {the} {person}) (VP {lift:VBD}))))",
        "(NP {plain} (CC and) {plain})",
        "(NP {plain} (PP (IN of) (NP {the} {person})))",
    ),
    "plain": ("(NP {the} (NN {lamp}))", "(NP {the} (NN {lamp}))", "(NP {the} (JJ {small}) (NN {lamp}))"),
    "lift": ("{pick} (PRT (RP up))", "{throw} (PRT (RP away))"),
    "place": ("(NP (DT the) (NN {school}))",),
    "spot": ("(NP (DT the) (NN {table}))",),
    "slope": ("(NP (DT the) (NN {hill}))",),
    "tool": ("(NP (DT a) (NN {knife}))", "(NP (DT a) (JJ {small}) (NN {knife}))"),
    "quality": ("(JJ {happy})", "(RB very) (JJ {happy})", "(JJ {happy}) (CC and) (JJ {polite})"),
}
WORDS = {
    "name": ("NNP", "Ada Bruno Clara Dario Edith Felix Greta Hugo Irma Jonas"),
    "person": ("NN", "clerk sailor baker teacher painter farmer doctor driver gardener student singer judge"),
    "the": ("DT", "the the the a"),
    "said": ("", "said thought knew believed noticed"),
    "and": ("", "and and or"),
    "while": ("IN", "while after before because"),
    "will": ("", "will can must may"),
    "when": ("WRB", "when why how"),
    "manner": ("RB", "quietly slowly gladly often soon"),
    "tall": ("", "tall young wise tired clever"),
    "happy": ("", "happy hungry proud late ready calm"),
    "polite": ("", "polite honest quiet brave"),
    "small": ("", "small heavy blue round broken cheap"),
    "lamp": ("", "lamp rope letter basket clock book bottle chair coat melon picture radio"),
    "knife": ("", "knife hammer needle spoon brush saw"),
    "table": ("", "table shelf bench roof floor cart"),
    "school": ("", "school harbour market village station kitchen"),
    "hill": ("", "hill stairs ladder tower"),
    "from": ("IN", "from near behind"),
    "on": ("IN", "on under beside"),
    "up": ("IN", "up down"),
    "sleep": ("V", "slept/sleep laughed/laugh waited/wait left/leave sang/sing arrived/arrive"),
    "like": ("V", "liked/like wanted/want saw/see remembered/remember drew/draw bought/buy"),
    "put": ("V", "put/put laid/lay hid/hide left/leave placed/place"),
    "cut": ("V", "cut/cut mended/mend opened/open touched/touch cleaned/clean"),
    "meet": ("V", "met/meet knew/know feared/fear helped/help followed/follow"),
    "give": ("V", "gave/give sold/sell showed/show sent/send"),
    "climb": ("V", "climbed/climb walked/walk ran/run"),
    "pick": ("V", "picked/pick took/take held/hold"),
    "throw": ("V", "threw/throw gave/give put/put"),
}
SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")
VERB = re.compile(r"\(V (\w+)/(\w+)\)")


def sample_trees(count: int = 3000) -> list[Tree]:
    """That many trees over different sentences of 4 to 15 words, always the same ones."""
    chance = random.Random(SEED)
    found: dict[str, Tree] = {}
    while len(found) < count:
        tree = read_tree(_text(chance))
        if SHORTEST <= len(leaves(tree)) <= LONGEST:
            found.setdefault(sentence(tree), tree)
    return list(found.values())


def _text(chance: random.Random) -> str:
    """A sentence of the grammar in brackets, its first word with a capital letter."""
    text = _filled("start", None, chance)
    return re.sub(r" (\w)(\w*)\)", lambda found: f" {found[1].upper()}{found[2]})", text, count=1)


def _filled(name: str, form: str | None, chance: random.Random) -> str:
    """A phrase or word of that name, with all that is to be put in put in."""
    if name in WORDS:
        tag, listed = WORDS[name]
        word = _pick(listed.split(), chance)
        text = f"({tag} {word})" if tag else word
    else:
        text = SLOT.sub(lambda slot: _filled(slot[1], slot[2], chance), _pick(PHRASES[name], chance))
    return VERB.sub(lambda verb: f"({form} {verb[1 if form == 'VBD' else 2]})", text) if form else text


def _pick(options: list[str] | tuple[str, ...], chance: random.Random) -> str:
    """One of them. Only random() gives the same numbers in every Python."""
    return options[int(chance.random() * len(options))]
