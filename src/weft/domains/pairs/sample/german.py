"""How German says a meaning: three cases and more, and verbs that wait for the end."""

from functools import cache

from weft.domains.texts.grammar.lexicon import DAYS, MONTHS, NUMBERS
from weft.domains.texts.grammar.meaning import (
    MODALS,
    Clause,
    Group,
    Sentence,
    Word,
    Words,
    is_plural,
    laid,
    named,
    person_of,
)

# By case, for m, f, n and the plural.
_DER = {"nom": ("der", "die", "das", "die"), "acc": ("den", "die", "das", "die"), "dat": ("dem", "der", "dem", "den")}
_DER["gen"] = ("des", "der", "des", "der")
_EIN = {"nom": ("", "e", "", "e"), "acc": ("en", "e", "", "e"), "dat": ("em", "er", "em", "en")}
_WEAK = {"nom": ("e", "e", "e", "en"), "acc": ("en", "e", "e", "en"), "dat": ("en",) * 4, "gen": ("en",) * 4}
_MIXED = {"nom": ("er", "e", "es", "en"), "acc": ("en", "e", "es", "en"), "dat": ("en",) * 4}
_BARE = {"nom": "e", "acc": "e", "dat": "en"}  # after a number
_STEMS = {"a": "ein", "no": "kein", "my": "mein", "our": "unser", "his": "sein", "her": "ihr"}
_HABEN = ("habe", "hat", "haben", "haben")
_SEIN = ("bin", "ist", "sind", "sind")
_WAR = ("war", "war", "waren", "waren")
_WERDEN = ("wurde", "wurde", "wurden", "wurden")
_MODALS = {
    "can": ("kann", "kann", "können", "können"),
    "must": ("muss", "muss", "müssen", "müssen"),
    "want": ("will", "will", "wollen", "wollen"),
}
_PRONOUNS = {"I": "ich", "he": "er", "she": "sie", "we": "wir", "they": "sie"}
_FUSED = {("in", "dem"): "im", ("an", "dem"): "am", ("von", "dem"): "vom"}
_LINKS = {"that": "dass", "because": "weil", "when": "wenn"}
_PLACES = {"in": "in", "on": "auf"}


@cache
def _group(group: Group, role: str, case: str, negation: tuple[str, ...] = ()) -> Words:
    plural = is_plural(group, "de")
    column = 3 if plural else "mfn".index(group.noun.gender["de"][0])
    determiner = "no" if negation else group.determiner
    if determiner == "the":
        article, ending = _DER[case][column], _WEAK[case][column]
    elif determiner in NUMBERS:
        article, ending = NUMBERS[determiner][2], _BARE[case]
    else:
        article, ending = _STEMS[determiner] + _EIN[case][column], _MIXED[case][column]
    words: list[Word] = [(article, ("d" + role, *negation))]
    if group.adjective:
        words.append((group.adjective.forms["de"][1].removesuffix("e") + ending, ("a" + role,)))
    for word, labels in named(group.noun, group.plural, "de", role):
        if word.endswith("-"):
            word = word[:-1] + ending
        elif case == "dat" and plural and word[-1] not in "ns":
            word += "n"
        elif case == "gen" and column in (0, 2) and not word.endswith("s"):
            word += "s"
        words.append((word, labels))
    if group.preposition == "of":
        assert group.name is not None
        genitive = _group(Group(group.name), role + "+", "gen")
        words += ((genitive[0][0], ("p" + role, *genitive[0][1])), *genitive[1:])
    elif group.name:
        words += (*laid("über", "p" + role), *_group(Group(group.name), role + "+", "acc"))
    return tuple(words)


def _verb(clause: Clause, tag: str) -> tuple[Word, Words, str]:
    """The finite verb, the words that end the clause, and the prefix that a finite verb at the end takes back."""
    person = person_of(clause.subject, "de")
    v, x, form = ("v" + tag,), ("x" + tag,), clause.form
    if form.startswith(("is", "was")):
        return ((_SEIN if form.startswith("is") else _WAR)[person], x), (), ""
    assert clause.verb is not None
    forms = clause.verb.forms["de"]
    if form in MODALS:
        return (_MODALS[form][person], x), laid(forms[4], *v), ""
    if form == "perfect":
        return (_HABEN[person], x), laid(forms[5], *v), ""
    if form == "past":
        return (_SEIN[person], v), laid(forms[5], *v), ""
    if form == "passive":
        return (_WERDEN[person], x), laid(forms[5], *v), ""
    return (forms[person], v), laid(clause.verb.prefix, *v), clause.verb.prefix


def _middle(clause: Clause, tag: str) -> Words:
    """What stands between the finite verb and the end."""
    words: Words = ()
    negation = ("not" + tag,) if clause.form.endswith("not") else ()
    if clause.recipient:  # before the object: the preposition "to" is in its case
        recipient = _group(clause.recipient, "r" + tag, "dat")
        words += ((recipient[0][0], ("to" + tag, *recipient[0][1])), *recipient[1:])
    if clause.object:
        assert clause.verb is not None
        case = "dat" if clause.verb.dative else "acc"
        kein = clause.object.determiner == "a"
        words += _group(clause.object, "o" + tag, case, negation if kein else ())
        negation = () if kein else negation
    words += laid("nicht", *negation) if negation else ()
    for i, adjective in enumerate(clause.adjectives):
        words += laid("und", "and" + tag) * (i > 0) + laid("sehr", "very" + tag) * clause.very
        words += laid(adjective.forms["de"][0], f"{i}" + tag)
    if clause.place:
        words += laid(_PLACES[clause.place[0]], "in" + tag)
        words += _group(clause.place[1], "l" + tag, "dat")
    if clause.time and clause.time[0] in DAYS:
        words += (*laid("am", "t" + tag), *laid(DAYS[clause.time[0]][2], "t0" + tag))
    elif clause.time:
        words += (*laid("im", "t" + tag), *laid(MONTHS[clause.time[0]][2], "t0" + tag))
        words += laid(clause.time[1], "t1" + tag)
    if clause.agent:
        words += (*laid("von", "by" + tag), *_group(clause.agent, "b" + tag, "dat"))
    return words


def _clause(clause: Clause, tag: str, kind: str = "statement") -> Words:
    subject = clause.subject
    if isinstance(subject, str):
        who = laid(_PRONOUNS[subject], "ns" + tag)
    else:
        who = _group(subject, "s" + tag, "acc" if kind == "there" else "nom")
    finite, end, prefix = _verb(clause, tag)
    middle = _middle(clause, tag)
    if kind == "subordinate":
        return (*who, *middle, *(end[:-1] if prefix else end), (prefix + finite[0], finite[1]))
    if kind == "does":
        return ((finite[0], (*finite[1], "q")), *who, *middle, *end)
    if kind == "where":
        return (*laid("wo", "q"), finite, *who)
    if kind == "there":
        return (*laid("es", "q"), *laid("gibt", "x"), *who, *middle)
    return (*who, finite, *middle, *end)


def german(sentence: Sentence) -> Words:
    """A sentence in German."""
    words = _clause(sentence.clause, "", sentence.kind)
    if sentence.second:
        words += laid(f", {_LINKS[sentence.link]}", "link")
        words += _clause(sentence.second, "2", "subordinate")
    fused: list[Word] = []
    for text, labels in words:
        if fused and (fused[-1][0], text) in _FUSED:
            fused[-1] = (_FUSED[fused[-1][0], text], fused[-1][1] + labels)
        else:
            fused.append((text, labels))
    return tuple(fused)
