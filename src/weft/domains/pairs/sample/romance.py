"""How French and Italian say a meaning: in one order, with words of their own.

A sentence is first laid out word by word, as a careful beginner would ("de le hôtel"); then its words are fused as
speech does ("de l'hôtel").
"""

import re
from dataclasses import dataclass
from functools import cache

from weft.domains.texts.grammar.lexicon import DAYS, LANGUAGES, MONTHS, NUMBERS, Adjective, Verb
from weft.domains.texts.grammar.meaning import (
    MODALS,
    Clause,
    Group,
    Sentence,
    Words,
    agreement_of,
    laid,
    named,
    person_of,
)


@dataclass(frozen=True, eq=False)
class Romance:
    """What French and Italian differ in. Four forms: masculine, feminine, their plurals; or of I, she, we, they."""

    language: str
    determiners: dict[str, tuple[str, str, str, str]]
    pronouns: dict[str, str]
    have: tuple[str, str, str, str]
    be: tuple[str, str, str, str]
    was: tuple[str, str, str, str]
    been: tuple[str, str, str, str]  # joined to its auxiliary: "a été", "è stato"
    modals: dict[str, tuple[str, ...]]
    negation: tuple[str, str]
    words: dict[str, str]

    @cache  # noqa: B019 there are two of these, for good
    def group(self, group: Group, role: str, negated: bool = False) -> Words:
        """A noun group before its words are fused: "de le hôtel". A French negated "a" is "de"."""
        agreement = agreement_of(group, self.language)
        noun = named(group.noun, group.plural, self.language, role)
        adjective = self.adjective(group.adjective, agreement, noun[0][0], "a" + role) if group.adjective else ()
        if group.determiner in NUMBERS:
            which = NUMBERS[group.determiner][LANGUAGES.index(self.language)]
        else:
            which = self.determiners[group.determiner][agreement]
        if self.language == "fr" and negated and group.determiner == "a":
            which = "de"
        if self.language == "it" and group.determiner in ("my", "our", "his", "her"):
            close = "kin" in group.noun.tags and not group.plural and not adjective  # mio padre, but il mio cane
            which = which if close else f"{self.determiners['the'][agreement]} {which}"
        words = laid(which, "d" + role)
        before = group.adjective is not None and group.adjective.before
        words += adjective + noun if before else noun + adjective
        if group.name:
            words += (*laid(self.words[group.preposition], "p" + role), *self.group(Group(group.name), role + "+"))
        return words

    def adjective(self, adjective: Adjective, agreement: int, noun: str, label: str) -> Words:
        """Its form beside a noun: bel arbre, bell'albero, begli alberi, bei libri, buon pane."""
        forms = adjective.forms[self.language]
        form = forms[agreement]
        if self.language == "fr" and len(forms) == 5 and agreement == 0 and _vowel(noun):
            form = forms[4]
        elif self.language == "it" and adjective.name == "beautiful" and agreement in (0, 2):
            form = {"il": "bel", "lo": "bello", "l'": "bell'", "i": "bei", "gli": "begli"}[_italian_article(form, noun)]
        elif self.language == "it" and adjective.name == "good" and agreement == 0 and not _impure(noun):
            form = "buon"
        return laid(form, label)

    @cache  # noqa: B019
    def verb(
        self, form: str, verb: Verb | None, person: int, agreement: int, tag: str, carried: tuple[str, ...]
    ) -> Words:
        """The verb and what stands with it; `carried` are labels that its finite word has besides its own."""
        v, x = "v" + tag, "x" + tag
        before, after = (laid(part, "not" + tag) if form.endswith("not") else () for part in self.negation)
        if form.startswith(("is", "was")):
            be = self.be if form.startswith("is") else self.was
            return before + laid(be[person], x, *carried) + after
        assert verb is not None
        forms = verb.forms[self.language]
        if form in MODALS:
            return laid(self.modals[form][person], x, *carried) + laid(forms[4], v)
        if form == "perfect":
            return laid(self.have[person], x, *carried) + laid(forms[5], v)
        if form == "past":
            return laid(self.be[person], v, *carried) + laid(self.agreeing(forms[5], agreement), v)
        if form == "passive":
            auxiliary = (self.have if self.language == "fr" else self.be)[person]  # a été, è stato
            return (
                *laid(auxiliary, x, *carried),
                *laid(self.been[agreement], x),
                *laid(self.agreeing(forms[5], agreement), v),
            )
        return before + laid(forms[person], v, *carried) + after

    def agreeing(self, participle: str, agreement: int) -> str:
        """signé, signée, signés, signées; firmato, firmata, firmati, firmate."""
        if self.language == "fr":
            return participle + ("", "e", "s", "es")[agreement]
        return participle[:-1] + "oaie"[agreement]

    def clause(self, clause: Clause, tag: str, kind: str = "statement") -> Words:
        """The words of a clause before they are fused. Where a pronoun is dropped, the verb stands for it."""
        subject = clause.subject
        carried: tuple[str, ...] = ()
        if isinstance(subject, str):
            who = laid(self.pronouns[subject], "ns" + tag) if self.pronouns else ()
            carried = () if who else ("ns" + tag,)
        else:
            who = self.group(subject, "s" + tag)
        if kind == "does" and self.language == "it":
            carried += ("q",)
        person, agreement = person_of(subject, self.language), agreement_of(subject, self.language)
        verb = self.verb(clause.form, clause.verb, person, agreement, tag, carried)
        if kind == "there":
            words = self.there() + who
        elif kind == "where":
            words = (*laid(self.words["where"], "q"), *verb, *who)
        else:
            words = laid("est - ce que", "q") * (kind == "does" and self.language == "fr") + who + verb
        if clause.object:
            words += self.group(clause.object, "o" + tag, negated=clause.form == "not")
        if clause.recipient:
            words += (*laid(self.words["to"], "to" + tag), *self.group(clause.recipient, "r" + tag))
        for i, adjective in enumerate(clause.adjectives):
            words += laid(self.words["and"], "and" + tag) * (i > 0)
            words += laid(self.words["very"], "very" + tag) * clause.very
            words += laid(adjective.forms[self.language][agreement], f"{i}" + tag)
        if clause.place:
            words += (*laid(self.words[clause.place[0]], "in" + tag), *self.group(clause.place[1], "l" + tag))
        words += self.time(clause.time, tag)
        if clause.agent:
            words += (*laid(self.words["by"], "by" + tag), *self.group(clause.agent, "b" + tag))
        return words

    def there(self) -> Words:
        """There are."""
        if self.language == "fr":
            return (*laid("il y", "q"), *laid("a", "x"))
        return (*laid("ci", "q"), *laid("sono", "x"))

    def time(self, time: tuple[str, ...], tag: str) -> Words:
        """On Monday, in August 1992: lundi, en août 1992; lunedì, nell'agosto 1992."""
        if not time:
            return ()
        at = LANGUAGES.index(self.language)
        if time[0] in DAYS:
            return laid(DAYS[time[0]][at], "t" + tag, "t0" + tag)
        preposition = laid("en" if self.language == "fr" else "in il", "t" + tag)
        return (*preposition, *laid(MONTHS[time[0]][at], "t0" + tag), *laid(time[1], "t1" + tag))

    def sentence(self, sentence: Sentence) -> Words:
        """The whole, fused."""
        words = self.clause(sentence.clause, "", sentence.kind)
        if sentence.second:
            words += (*laid(self.words[sentence.link], "link"), *self.clause(sentence.second, "2"))
        return _fused_french(words) if self.language == "fr" else _fused_italian(words)


FRENCH = Romance(
    language="fr",
    determiners={
        "the": ("le", "la", "les", "les"),
        "a": ("un", "une", "", ""),
        "my": ("mon", "ma", "mes", "mes"),
        "our": ("notre", "notre", "nos", "nos"),
        "his": ("son", "sa", "ses", "ses"),
        "her": ("son", "sa", "ses", "ses"),
    },
    pronouns={"I": "je", "he": "il", "she": "elle", "we": "nous", "they": "ils"},
    have=("ai", "a", "avons", "ont"),
    be=("suis", "est", "sommes", "sont"),
    was=("étais", "était", "étions", "étaient"),
    been=("été", "été", "été", "été"),
    modals={
        "can": ("peux", "peut", "pouvons", "peuvent"),
        "must": ("dois", "doit", "devons", "doivent"),
        "want": ("veux", "veut", "voulons", "veulent"),
    },
    negation=("ne", "pas"),
    words={"and": "et", "very": "très", "to": "à", "in": "dans", "on": "sur", "of": "de", "by": "par", "where": "où"}
    | {"that": "que", "because": "parce que", "when": "quand"},
)
ITALIAN = Romance(
    language="it",
    determiners={
        "the": ("il", "la", "i", "le"),
        "a": ("un", "una", "", ""),
        "my": ("mio", "mia", "miei", "mie"),
        "our": ("nostro", "nostra", "nostri", "nostre"),
        "his": ("suo", "sua", "suoi", "sue"),
        "her": ("suo", "sua", "suoi", "sue"),
    },
    pronouns={},
    have=("ho", "ha", "abbiamo", "hanno"),
    be=("sono", "è", "siamo", "sono"),
    was=("ero", "era", "eravamo", "erano"),
    been=("stato", "stata", "stati", "state"),
    modals={
        "can": ("posso", "può", "possiamo", "possono"),
        "must": ("devo", "deve", "dobbiamo", "devono"),
        "want": ("voglio", "vuole", "vogliamo", "vogliono"),
    },
    negation=("non", ""),
    words={"and": "e", "very": "molto", "to": "a", "in": "in", "on": "su", "of": "di", "by": "da", "where": "dove"}
    | {"that": "che", "because": "perché", "when": "quando"},
)


def _vowel(word: str) -> bool:
    """Whether French elides before a word. Every h of the lexicon is silent."""
    return word[0].lower() in "aeiouhéèêîôœ"


_IMPURE = re.compile(r"z|gn|ps|x|y|s[^aeiou]", re.IGNORECASE)


def _impure(word: str) -> bool:
    """Whether Italian says "lo" before a word: lo zio, lo specchio."""
    return _IMPURE.match(word) is not None


def _italian_article(plain: str, following: str) -> str:
    """The article before a word; `plain` is any masculine form, its last letter an i in the plural."""
    vowel = following[0].lower() in "aeiou"
    if plain.endswith("i"):
        return "gli" if vowel or _impure(following) else "i"
    return "l'" if vowel else "lo" if _impure(following) else "il"


_ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "je": "j'", "ma": "mon", "sa": "son"}
_CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def _fused_french(words: Words) -> Words:
    """From the last word to the first: an article is settled when its preposition comes, de l'hôtel, du pont."""
    fused = list(words)
    for i in range(len(words) - 2, -1, -1):
        text, labels = words[i]
        if text in _ELIDED and _vowel(fused[i + 1][0]):
            fused[i] = (_ELIDED[text], labels)
        elif (text, fused[i + 1][0]) in _CONTRACTED:
            fused[i : i + 2] = [(_CONTRACTED[text, fused[i + 1][0]], labels + fused[i + 1][1])]
    return tuple(fused)


_PREPOSITIONS = {"di": "de", "a": "a", "da": "da", "in": "ne", "su": "su"}
_ARTICLES = {"il": "l", "lo": "llo", "l'": "ll'", "la": "lla", "i": "i", "gli": "gli", "le": "lle"}
_FUSING = {*_PREPOSITIONS, "il", "i", "la", "un", "una", "dove"}


def _fused_italian(words: Words) -> Words:
    """The same for Italian: nello specchio, degli amici, un'isola."""
    fused = list(words)
    for i in range(len(words) - 2, -1, -1):
        text, labels = words[i]
        if text not in _FUSING:
            continue
        following, others = fused[i + 1]
        vowel = following[0].lower() in "aeiou"
        if text in _PREPOSITIONS and following in _ARTICLES:
            fused[i : i + 2] = [(_PREPOSITIONS[text] + _ARTICLES[following], labels + others)]
        elif text in ("il", "i"):
            fused[i] = (_italian_article(text, following), labels)
        elif text in ("la", "una") and vowel:
            fused[i] = (text[:-1] + "'", labels)
        elif text == "un" and _impure(following):
            fused[i] = ("uno", labels)
        elif text == "dove" and following == "è":
            fused[i] = ("dov'", labels)
    return tuple(fused)
