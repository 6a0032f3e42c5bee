"""How English says a meaning."""

from functools import cache

from weft.domains.texts.grammar.lexicon import MONTHS, Verb
from weft.domains.texts.grammar.meaning import MODALS, Clause, Group, Sentence, Words, laid, named, person_of


@cache
def _group(group: Group, role: str) -> Words:
    words = laid(group.adjective.name, "a" + role) if group.adjective else ()
    words += named(group.noun, group.plural, "en", role)
    an = group.determiner == "a" and words[0][0][0] in "aeiou"
    words = laid("an" if an else group.determiner, "d" + role) + words
    if group.name:
        words += (*laid(group.preposition, "p" + role), *_group(Group(group.name), role + "+"))
    return words


@cache
def _verb(form: str, verb: Verb | None, person: int, tag: str, asked: bool) -> Words:
    third = person == 1
    v, x = "v" + tag, "x" + tag
    if form.startswith(("is", "was")):
        be = ("are", "is", "are", "are") if form.startswith("is") else ("were", "was", "were", "were")
        return laid(be[person], x) + (laid("not", "not" + tag) if form.endswith("not") else ())
    assert verb is not None
    base, sees, seen = (word.replace("-", " ") for word in verb.forms["en"])
    if form == "not":
        return (*laid("does" if third else "do", v), *laid("not", "not" + tag), *laid(base, v))
    if form == "want":
        return (*laid("wants" if third else "want", x), *laid(f"to {base}", v))
    if form in MODALS:
        return (*laid(form, x), *laid(base, v))
    if form == "perfect":
        return (*laid("has" if third else "have", x), *laid(seen, v))
    if form == "passive":
        return (*laid("were" if person == 3 else "was", x), *laid(seen, v))
    if form == "past":
        return laid(seen, v)
    return laid(sees if third and not asked else base, v)


def _clause(clause: Clause, tag: str, kind: str = "statement") -> Words:
    subject = clause.subject
    who = laid(subject, "ns" + tag) if isinstance(subject, str) else _group(subject, "s" + tag)
    person = person_of(subject, "en")
    verb = _verb(clause.form, clause.verb, person, tag, kind == "does")
    if kind == "does":
        words = laid("does" if person == 1 else "do", "q") + who + verb
    elif kind == "where":
        words = (*laid("where", "q"), *verb, *who)
    elif kind == "there":
        words = (*laid("there", "q"), *verb, *who)
    else:
        words = who + verb
    if clause.object:
        words += _group(clause.object, "o" + tag)
    if clause.recipient:
        words += (*laid("to", "to" + tag), *_group(clause.recipient, "r" + tag))
    for i, adjective in enumerate(clause.adjectives):
        words += laid("and", "and" + tag) * (i > 0) + laid("very", "very" + tag) * clause.very
        words += laid(adjective.name, f"{i}" + tag)
    if clause.place:
        words += (*laid(clause.place[0], "in" + tag), *_group(clause.place[1], "l" + tag))
    if clause.time:
        words += laid("in" if clause.time[0] in MONTHS else "on", "t" + tag)
        words += tuple(word for i, part in enumerate(clause.time) for word in laid(part, f"t{i}" + tag))
    if clause.agent:
        words += (*laid("by", "by" + tag), *_group(clause.agent, "b" + tag))
    return words


def english(sentence: Sentence) -> Words:
    """A sentence in English."""
    words = _clause(sentence.clause, "", sentence.kind)
    if sentence.second:
        words += (*laid(sentence.link, "link"), *_clause(sentence.second, "2"))
    return words
