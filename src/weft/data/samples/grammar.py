"""One sentence in four languages: meanings, and how each language says them. Refuses to know which sentences there are.

A sentence is first laid out word by word, as a careful beginner would ("de le hôtel"), then its words are fused as
speech does ("de l'hôtel"). Each word carries labels of what it stands for; words of two languages that share a label
are linked, and a fused word carries the labels of both its parts.
"""

import re
from dataclasses import dataclass
from functools import cache

from weft.data.samples.lexicon import DAYS, MONTHS, NUMBERS, Adjective, Noun, Verb

Word = tuple[str, tuple[str, ...]]  # the text and its labels
Words = tuple[Word, ...]
LANGUAGES = ("fr", "it", "de")


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A noun with its determiner ("the", "a", "my", "two" and so on) and perhaps an adjective and "on" or "of" a name."""

    noun: Noun
    determiner: str = "the"
    plural: bool = False
    adjective: Adjective | None = None
    preposition: str = ""
    name: Noun | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """Who does what, to whom, where and when. `form` is one of

    present, not, can, must, want, perfect (with an object, or none); past (she arrived); passive;
    is, was, is not (with adjectives or a place).
    """

    subject: Group | str  # a pronoun is its English word
    form: str
    verb: Verb | None = None
    object: Group | None = None
    recipient: Group | None = None
    adjectives: tuple[Adjective, ...] = ()
    very: bool = False
    place: tuple[str, Group] | None = None  # ("in", the garden)
    time: tuple[str, ...] = ()  # ("Monday",) or ("August", "1992")
    agent: Group | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A clause, said as a `statement`, asked (`does`, `where`) or stated of a place (`there`); perhaps a second clause."""

    clause: Clause
    kind: str = "statement"
    link: str = ""  # that, because, when
    second: Clause | None = None


PERSONS = {"I": 0, "he": 1, "she": 1, "we": 2, "they": 3}
MODALS = ("can", "must", "want")


@cache
def _words(text: str, *labels: str) -> Words:
    return tuple((word, labels) for word in text.split())


def _plural(group: Group, language: str) -> bool:
    return group.plural or group.noun.gender[language].endswith("p")


def _person(subject: Group | str, language: str) -> int:
    """Which of the present forms: 0 of I, 1 of she, 2 of we, 3 of they."""
    if isinstance(subject, str):
        return PERSONS[subject]
    return 3 if _plural(subject, language) else 1


def _agreement(subject: Group | str, language: str) -> int:
    """Which of the four forms of an adjective: masculine, feminine, and both in the plural."""
    if isinstance(subject, str):
        return {"he": 0, "she": 1}.get(subject, 2)
    return 2 * _plural(subject, language) + subject.noun.gender[language].startswith("f")


def _noun(group: Group, language: str, role: str) -> Words:
    parts = group.noun.forms[language][group.plural]
    return tuple((word, tuple(label + role for label in labels)) for word, labels in parts)


# --- English ---------------------------------------------------------------------------------------------------------


@cache
def _english_group(group: Group, role: str) -> Words:
    words = _words(group.adjective.name, "a" + role) if group.adjective else ()
    words += _noun(group, "en", role)
    an = group.determiner == "a" and words[0][0][0] in "aeiou"
    words = _words("an" if an else group.determiner, "d" + role) + words
    if group.name:
        words += (*_words(group.preposition, "p" + role), *_english_group(Group(group.name), role + "+"))
    return words


def _english_verb(clause: Clause, tag: str, asked: bool) -> Words:
    person = _person(clause.subject, "en")
    third = person == 1
    v, x, form = "v" + tag, "x" + tag, clause.form
    if form.startswith(("is", "was")):
        be = ("are", "is", "are", "are") if form.startswith("is") else ("were", "was", "were", "were")
        return _words(be[person], x) + (_words("not", "not" + tag) if form.endswith("not") else ())
    assert clause.verb is not None
    base, sees, seen = (word.replace("-", " ") for word in clause.verb.forms["en"])
    if form == "not":
        return (*_words("does" if third else "do", v), *_words("not", "not" + tag), *_words(base, v))
    if form in MODALS:
        modal = (["wants"] if third else ["want"]) if form == "want" else [form]
        return (*_words(modal[0], x), *_words("to " * (form == "want") + base, v))
    if form == "perfect":
        return (*_words("has" if third else "have", x), *_words(seen, v))
    if form == "passive":
        return (*_words("were" if person == 3 else "was", x), *_words(seen, v))
    if form == "past":
        return _words(seen, v)
    return _words(sees if third and not asked else base, v)


def _english_clause(clause: Clause, tag: str, kind: str = "statement") -> Words:
    subject = clause.subject
    who = _words(subject, "ns" + tag) if isinstance(subject, str) else _english_group(subject, "s" + tag)
    verb = _english_verb(clause, tag, kind == "does")
    if kind == "does":
        words = _words("does" if _person(subject, "en") == 1 else "do", "q") + who + verb
    elif kind == "where":
        words = (*_words("where", "q"), *verb, *who)
    elif kind == "there":
        words = (*_words("there", "q"), *verb, *who)
    else:
        words = who + verb
    if clause.object:
        words += _english_group(clause.object, "o" + tag)
    if clause.recipient:
        words += (*_words("to", "to" + tag), *_english_group(clause.recipient, "r" + tag))
    for i, adjective in enumerate(clause.adjectives):
        words += _words("and", "and" + tag) * (i > 0) + _words("very", "very" + tag) * clause.very
        words += _words(adjective.name, f"{i}" + tag)
    if clause.place:
        words += (*_words(clause.place[0], "in" + tag), *_english_group(clause.place[1], "l" + tag))
    if clause.time:
        words += _words("in" if clause.time[0] in MONTHS else "on", "t" + tag)
        words += tuple(word for i, part in enumerate(clause.time) for word in _words(part, f"t{i}" + tag))
    if clause.agent:
        words += (*_words("by", "by" + tag), *_english_group(clause.agent, "b" + tag))
    return words


def _english(sentence: Sentence) -> Words:
    words = _english_clause(sentence.clause, "", sentence.kind)
    if sentence.second:
        words += (*_words(sentence.link, "link"), *_english_clause(sentence.second, "2"))
    return words


# --- French and Italian: one word order, with tables of their own -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Romance:
    """What French and Italian differ in. Four forms are masculine, feminine and both in the plural; or those of I, she, we, they."""

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
        agreement = _agreement(group, self.language)
        noun = _noun(group, self.language, role)
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
        words = _words(which, "d" + role)
        before = group.adjective is not None and group.adjective.before
        words += adjective + noun if before else noun + adjective
        if group.name:
            words += (*_words(self.words[group.preposition], "p" + role), *self.group(Group(group.name), role + "+"))
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
        return _words(form, label)

    def verb(self, clause: Clause, tag: str, *with_finite: str) -> Words:
        """The verb and what stands with it; `with_finite` are labels that its finite word also carries."""
        person, agreement = _person(clause.subject, self.language), _agreement(clause.subject, self.language)
        v, x, negation, form = "v" + tag, "x" + tag, "not" + tag, clause.form
        before, after = (_words(part, negation) if form.endswith("not") else () for part in self.negation)
        if form.startswith(("is", "was")):
            be = self.be if form.startswith("is") else self.was
            return before + _words(be[person], x, *with_finite) + after
        assert clause.verb is not None
        forms = clause.verb.forms[self.language]
        if form in MODALS:
            return _words(self.modals[form][person], x, *with_finite) + _words(forms[4], v)
        if form == "perfect":
            return _words(self.have[person], x, *with_finite) + _words(forms[5], v)
        if form == "past":
            return _words(self.be[person], v, *with_finite) + _words(self.agreeing(forms[5], agreement), v)
        if form == "passive":
            finite, been = self.passive(person, agreement)
            return _words(finite, x, *with_finite) + _words(been, x) + _words(self.agreeing(forms[5], agreement), v)
        return before + _words(forms[person], v, *with_finite) + after

    def passive(self, person: int, agreement: int) -> tuple[str, str]:
        """The auxiliaries: "a été", "sono stati"."""
        return (self.have if self.language == "fr" else self.be)[person], self.been[agreement]

    def agreeing(self, participle: str, agreement: int) -> str:
        """signé, signée, signés, signées; firmato, firmata, firmati, firmate."""
        if self.language == "fr":
            return participle + ("", "e", "s", "es")[agreement]
        return participle[:-1] + "oaie"[agreement]

    def clause(self, clause: Clause, tag: str, kind: str = "statement") -> Words:
        """The words of a clause before they are fused. Where a pronoun is dropped, the verb stands for it."""
        subject, carried = clause.subject, []
        if isinstance(subject, str):
            who = _words(self.pronouns[subject], "ns" + tag) if self.pronouns else ()
            carried = [] if who else ["ns" + tag]
        else:
            who = self.group(subject, "s" + tag)
        if kind == "does" and self.language == "it":
            carried.append("q")
        verb = self.verb(clause, tag, *carried)
        if kind == "there":
            words = self.there() + who
        elif kind == "where":
            words = (*_words(self.words["where"], "q"), *verb, *who)
        else:
            words = _words("est - ce que", "q") * (kind == "does" and self.language == "fr") + who + verb
        if clause.object:
            words += self.group(clause.object, "o" + tag, negated=clause.form == "not")
        if clause.recipient:
            words += (*_words(self.words["to"], "to" + tag), *self.group(clause.recipient, "r" + tag))
        for i, adjective in enumerate(clause.adjectives):
            words += _words(self.words["and"], "and" + tag) * (i > 0)
            words += _words(self.words["very"], "very" + tag) * clause.very
            words += _words(adjective.forms[self.language][_agreement(subject, self.language)], f"{i}" + tag)
        if clause.place:
            words += (*_words(self.words[clause.place[0]], "in" + tag), *self.group(clause.place[1], "l" + tag))
        words += self.time(clause.time, tag)
        if clause.agent:
            words += (*_words(self.words["by"], "by" + tag), *self.group(clause.agent, "b" + tag))
        return words

    def there(self) -> Words:
        """There are."""
        if self.language == "fr":
            return (*_words("il y", "q"), *_words("a", "x"))
        return (*_words("ci", "q"), *_words("sono", "x"))

    def time(self, time: tuple[str, ...], tag: str) -> Words:
        """On Monday, in August 1992: lundi, en août 1992; lunedì, nell'agosto 1992."""
        if not time:
            return ()
        at = LANGUAGES.index(self.language)
        if time[0] in DAYS:
            return _words(DAYS[time[0]][at], "t" + tag, "t0" + tag)
        preposition = _words("en" if self.language == "fr" else "in il", "t" + tag)
        return (*preposition, *_words(MONTHS[time[0]][at], "t0" + tag), *_words(time[1], "t1" + tag))

    def sentence(self, sentence: Sentence) -> Words:
        """The whole, fused."""
        words = self.clause(sentence.clause, "", sentence.kind)
        if sentence.second:
            words += (*_words(self.words[sentence.link], "link"), *self.clause(sentence.second, "2"))
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


_ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "je": "j'"}
_CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def _fused_french(words: Words) -> Words:
    """From the last word to the first, so that the article is known when its preposition comes: de l'hôtel, du pont."""
    fused: list[Word] = []  # in reverse
    for text, labels in reversed(words):
        following = fused[-1][0] if fused else "."
        if (text, following) in _CONTRACTED:
            fused[-1] = (_CONTRACTED[text, following], labels + fused[-1][1])
        elif _vowel(following):
            text = {"ma": "mon", "sa": "son"}.get(text, _ELIDED.get(text, text))
            fused.append((text, labels))
        else:
            fused.append((text, labels))
    return tuple(fused[::-1])


_PREPOSITIONS = {"di": "de", "a": "a", "da": "da", "in": "ne", "su": "su"}
_ARTICLES = {"il": "l", "lo": "llo", "l'": "ll'", "la": "lla", "i": "i", "gli": "gli", "le": "lle"}


def _fused_italian(words: Words) -> Words:
    """The same for Italian: nello specchio, degli amici, un'isola."""
    fused: list[Word] = []
    for text, labels in reversed(words):
        following = fused[-1][0] if fused else "."
        vowel = following[0].lower() in "aeiou"
        if text in _PREPOSITIONS and following in _ARTICLES:
            fused[-1] = (_PREPOSITIONS[text] + _ARTICLES[following], labels + fused[-1][1])
            continue
        if text in ("il", "i"):
            text = _italian_article(text, following)
        elif text == "la" and vowel:
            text = "l'"
        elif text == "una" and vowel:
            text = "un'"
        elif text == "un" and _impure(following):
            text = "uno"
        elif text == "dove" and following == "è":
            text = "dov'"
        fused.append((text, labels))
    return tuple(fused[::-1])


# --- German ----------------------------------------------------------------------------------------------------------

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
_GERMAN_MODALS = {
    "can": ("kann", "kann", "können", "können"),
    "must": ("muss", "muss", "müssen", "müssen"),
    "want": ("will", "will", "wollen", "wollen"),
}
_GERMAN_PRONOUNS = {"I": "ich", "he": "er", "she": "sie", "we": "wir", "they": "sie"}
_GERMAN_FUSED = {("in", "dem"): "im", ("an", "dem"): "am", ("von", "dem"): "vom"}
_GERMAN_LINKS = {"that": "dass", "because": "weil", "when": "wenn"}
_GERMAN_PLACES = {"in": "in", "on": "auf"}


@cache
def _german_group(group: Group, role: str, case: str, negation: tuple[str, ...] = ()) -> Words:
    plural = _plural(group, "de")
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
    for word, labels in _noun(group, "de", role):
        if word.endswith("-"):
            word = word[:-1] + ending
        elif case == "dat" and plural and word[-1] not in "ns":
            word += "n"
        elif case == "gen" and column in (0, 2) and not word.endswith("s"):
            word += "s"
        words.append((word, labels))
    if group.preposition == "of":
        assert group.name is not None
        genitive = _german_group(Group(group.name), role + "+", "gen")
        words += ((genitive[0][0], ("p" + role, *genitive[0][1])), *genitive[1:])
    elif group.name:
        words += (*_words("über", "p" + role), *_german_group(Group(group.name), role + "+", "acc"))
    return tuple(words)


def _german_verb(clause: Clause, tag: str) -> tuple[Word, Words, str]:
    """The finite verb, the words that end the clause, and the prefix that a finite verb at the end takes back."""
    person = _person(clause.subject, "de")
    v, x, form = ("v" + tag,), ("x" + tag,), clause.form
    if form.startswith(("is", "was")):
        return ((_SEIN if form.startswith("is") else _WAR)[person], x), (), ""
    assert clause.verb is not None
    forms = clause.verb.forms["de"]
    if form in MODALS:
        return (_GERMAN_MODALS[form][person], x), _words(forms[4], *v), ""
    if form == "perfect":
        return (_HABEN[person], x), _words(forms[5], *v), ""
    if form == "past":
        return (_SEIN[person], v), _words(forms[5], *v), ""
    if form == "passive":
        return (_WERDEN[person], x), _words(forms[5], *v), ""
    return (forms[person], v), _words(clause.verb.prefix, *v), clause.verb.prefix


def _german_middle(clause: Clause, tag: str) -> Words:
    """What stands between the finite verb and the end."""
    words: Words = ()
    negation = ("not" + tag,) if clause.form.endswith("not") else ()
    if clause.recipient:  # before the object: the preposition "to" is in its case
        recipient = _german_group(clause.recipient, "r" + tag, "dat")
        words += ((recipient[0][0], ("to" + tag, *recipient[0][1])), *recipient[1:])
    if clause.object:
        assert clause.verb is not None
        case = "dat" if clause.verb.dative else "acc"
        kein = clause.object.determiner == "a"
        words += _german_group(clause.object, "o" + tag, case, negation if kein else ())
        negation = () if kein else negation
    words += _words("nicht", *negation) if negation else ()
    for i, adjective in enumerate(clause.adjectives):
        words += _words("und", "and" + tag) * (i > 0) + _words("sehr", "very" + tag) * clause.very
        words += _words(adjective.forms["de"][0], f"{i}" + tag)
    if clause.place:
        words += _words(_GERMAN_PLACES[clause.place[0]], "in" + tag)
        words += _german_group(clause.place[1], "l" + tag, "dat")
    if clause.time and clause.time[0] in DAYS:
        words += (*_words("am", "t" + tag), *_words(DAYS[clause.time[0]][2], "t0" + tag))
    elif clause.time:
        words += (*_words("im", "t" + tag), *_words(MONTHS[clause.time[0]][2], "t0" + tag))
        words += _words(clause.time[1], "t1" + tag)
    if clause.agent:
        words += (*_words("von", "by" + tag), *_german_group(clause.agent, "b" + tag, "dat"))
    return words


def _german_clause(clause: Clause, tag: str, kind: str = "statement") -> Words:
    subject = clause.subject
    if isinstance(subject, str):
        who = _words(_GERMAN_PRONOUNS[subject], "ns" + tag)
    else:
        who = _german_group(subject, "s" + tag, "acc" if kind == "there" else "nom")
    finite, end, prefix = _german_verb(clause, tag)
    middle = _german_middle(clause, tag)
    if kind == "subordinate":
        return (*who, *middle, *(end[:-1] if prefix else end), (prefix + finite[0], finite[1]))
    if kind == "does":
        return ((finite[0], (*finite[1], "q")), *who, *middle, *end)
    if kind == "where":
        return (*_words("wo", "q"), finite, *who)
    if kind == "there":
        return (*_words("es", "q"), *_words("gibt", "x"), *who, *middle)
    return (*who, finite, *middle, *end)


def _german(sentence: Sentence) -> Words:
    words = _german_clause(sentence.clause, "", sentence.kind)
    if sentence.second:
        words += _words(f", {_GERMAN_LINKS[sentence.link]}", "link")
        words += _german_clause(sentence.second, "2", "subordinate")
    fused: list[Word] = []
    for text, labels in words:
        if fused and (fused[-1][0], text) in _GERMAN_FUSED:
            fused[-1] = (_GERMAN_FUSED[fused[-1][0], text], fused[-1][1] + labels)
        else:
            fused.append((text, labels))
    return tuple(fused)


# --- All ----------------------------------------------------------------------------------------------------------------

_SAY = {"en": _english, "fr": FRENCH.sentence, "it": ITALIAN.sentence, "de": _german}


def said(sentence: Sentence, language: str) -> Words:
    """The words of a sentence in a language, with a capital and a mark at its end."""
    (text, labels), *others = _SAY[language](sentence)
    mark = "?" if sentence.kind in ("does", "where") else "."
    return ((text[0].upper() + text[1:], labels), *others, (mark, (".",)))


def spelled(words: Words, language: str) -> str:
    """The text of words: no space after an apostrophe or before a mark, except a French question mark."""
    text = " ".join([word for word, _ in words]).replace("' ", "'").replace(" .", ".").replace(" ,", ",")
    return text.replace(" - ", "-") if language == "fr" else text.replace(" ?", "?")


def linked(source: Words, target: Words) -> frozenset[tuple[int, int]]:
    """The pairs of words that share a label."""
    where: dict[str, list[int]] = {}
    for i, (_, labels) in enumerate(source):
        for label in labels:
            if label in where:
                where[label].append(i)
            else:
                where[label] = [i]
    return frozenset([(i, j) for j, (_, labels) in enumerate(target) for label in labels for i in where[label]])
