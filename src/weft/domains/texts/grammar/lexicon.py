"""The words of the phrasebook, in English, French, Italian and German, as tables. Knows forms, refuses to know order.

A noun is in as many kinds as it has tags, and an adjective or a verb says which kinds it goes with: bread is eaten, and
a letter is read.
"""

from dataclasses import dataclass

Parts = tuple[tuple[str, tuple[str, ...]], ...]  # words of a name, each with the labels that link it to other languages


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun by language: singular and plural, each one word or, for a name, several. `de` has stems of adjectives."""

    name: str
    forms: dict[str, tuple[Parts, Parts]]
    gender: dict[str, str]
    tags: frozenset[str]


@dataclass(frozen=True, eq=False)
class Adjective:
    """Four forms (m, f, m plural, f plural) in French and Italian; the predicate and the stem in German."""

    name: str
    forms: dict[str, tuple[str, ...]]
    before: bool  # stands before the noun in French and Italian
    scale: str  # two adjectives of one scale exclude each other
    tags: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """Present of I, she, we, they; infinitive; participle. English: base, third person, participle."""

    name: str
    forms: dict[str, tuple[str, ...]]
    prefix: str  # German: what is cut off, "ein" of "einladen"
    dative: bool  # German: the object is in the dative
    tags: frozenset[str]


# English | French | Italian | German | tags. The gender comes first. `kin` has no article with an Italian possessive.
_NOUNS = """
man men | m homme hommes | m uomo uomini | m Mann Männer | person adult
woman women | f femme femmes | f donna donne | f Frau Frauen | person adult pretty
child children | m enfant enfants | m bambino bambini | n Kind Kinder | person kid own
father | m père | m padre | m Vater | person kin own
mother | f mère | f madre | f Mutter | person kin own
brother brothers | m frère frères | m fratello fratelli | m Bruder Brüder | person kin own several
sister sisters | f sœur sœurs | f sorella sorelle | f Schwester Schwestern | person kin own several
uncle uncles | m oncle oncles | m zio zii | m Onkel Onkel | person kin own several
friend friends | m ami amis | m amico amici | m Freund Freunde | person old own several
doctor doctors | m médecin médecins | m medico medici | m Arzt Ärzte | person adult expert own
teacher teachers | m professeur professeurs | m professore professori | m Lehrer Lehrer | person adult expert own
baker | m boulanger | m panettiere | m Bäcker | person adult expert
queen | f reine | f regina | f Königin | person adult pretty famous
dog dogs | m chien chiens | m cane cani | m Hund Hunde | animal own living
cat cats | m chat chats | m gatto gatti | f Katze Katzen | animal own living
horse horses | m cheval chevaux | m cavallo cavalli | n Pferd Pferde | animal own living costly
bird birds | m oiseau oiseaux | m uccello uccelli | m Vogel Vögel | animal own living tiny
car cars | f voiture voitures | f macchina macchine | n Auto Autos | object color dear own costly
bicycle bicycles | m vélo vélos | f bicicletta biciclette | n Fahrrad Fahrräder | object color dear own
key keys | f clé clés | f chiave chiavi | m Schlüssel Schlüssel | object tiny own portable
painting paintings | m tableau tableaux | m quadro quadri | n Gemälde Gemälde | object dear famous own portable costly
mirror mirrors | m miroir miroirs | m specchio specchi | m Spiegel Spiegel | object heavy dear own portable
coat coats | m manteau manteaux | m cappotto cappotti | m Mantel Mäntel | object color heavy dear own
hat hats | m chapeau chapeaux | m cappello cappelli | m Hut Hüte | object color dear own portable
umbrella umbrellas | m parapluie parapluies | m ombrello ombrelli | m Regenschirm Regenschirme | object color heavy dear own portable opens closes
table | f table | m tavolo | m Tisch | object color heavy own on:portable
chair chairs | f chaise chaises | f sedia sedie | m Stuhl Stühle | object color heavy own furnishing on:portable
cup cups | f tasse tasses | f tazza tazze | f Tasse Tassen | object color empty own portable
bottle bottles | f bouteille bouteilles | f bottiglia bottiglie | f Flasche Flaschen | object color heavy empty own portable opens
door doors | f porte portes | f porta porte | f Tür Türen | color heavy opening opens closes furnishing
window windows | f fenêtre fenêtres | f finestra finestre | n Fenster Fenster | opening opens closes furnishing
flower flowers | f fleur fleurs | m fiore fiori | f Blume Blumen | object color plant
tree trees | m arbre arbres | m albero alberi | m Baum Bäume | opening plant
book books | m livre livres | m libro libri | n Buch Bücher | paper heavy famous good own portable written weighty
letter letters | f lettre lettres | f lettera lettere | m Brief Briefe | paper own portable written opens weighty
newspaper newspapers | m journal journaux | m giornale giornali | f Zeitung Zeitungen | paper own portable
report reports | m rapport rapports | m rapporto rapporti | m Bericht Berichte | written readable weighty public about of own
law laws | f loi lois | f legge leggi | n Gesetz Gesetze | readable weighty public about
agreement | m accord | m accordo | n Abkommen | weighty public about signed
treaty | m traité | m trattato | m Vertrag | readable weighty public about signed
soup | f soupe | f zuppa | f Suppe | food mass dish edible heat own
bread | m pain | m pane | n Brot | food mass edible heat own
cheese | m fromage | m formaggio | m Käse | food mass edible own
tea | m thé | m tè | m Tee | food mass dish heat own
coffee | m café | m caffè | m Kaffee | food mass dish heat own
cake | m gâteau | f torta | m Kuchen | food dish edible own
apple apples | f pomme pommes | f mela mele | m Apfel Äpfel | edible fruit own
house houses | f maison maisons | f casa case | n Haus Häuser | place building estate color tiny cozy empty dear modern own in:portable costly
kitchen | f cuisine | f cucina | f Küche | place home cozy tiny modern own in:portable in:living
garden gardens | m jardin jardins | m giardino giardini | m Garten Gärten | place home town quiet tiny own in:living in:person in:plant
hotel hotels | m hôtel hôtels | m albergo alberghi | n Hotel Hotels | place building estate sight good tiny cozy empty dear modern quiet in:person in:furnishing costly
school schools | f école écoles | f scuola scuole | f Schule Schulen | place building sight good modern in:furnishing
hospital | m hôpital | m ospedale | n Krankenhaus | place building modern
church churches | f église églises | f chiesa chiese | f Kirche Kirchen | place building sight tour tiny empty famous quiet in:furnishing
museum museums | m musée musées | m museo musei | n Museum Museen | place building sight tour tiny empty famous modern in:person in:furnishing
castle castles | m château châteaux | m castello castelli | n Schloss Schlösser | place building estate sight tour famous dear in:person in:furnishing costly
bridge bridges | m pont ponts | m ponte ponti | f Brücke Brücken | place building sight famous modern on:person on:living
island | f île | f isola | f Insel | place tour tiny quiet famous on:person on:living on:sight
village | m village | m villaggio | n Dorf | place town tour tiny quiet own in:person in:sight
city | f ville | f città | f Stadt | place town tour modern own in:person in:sight
"""

# Names of several words: the number after a word says which English words it stands for. German: stem of the adjective.
_NAMES = """
European.1 Union.2 | f Union.2 européenne.1 | f Unione.2 europea.1 | f Europäisch-.1 Union.2 | topic body lone
European.1 Parliament.2 | m Parlement.2 européen.1 | m Parlamento.2 europeo.1 | n Europäisch-.1 Parlament.2 | topic body lone
European.1 Central.2 Bank.3 | f Banque.3 centrale.2 européenne.1 | f Banca.3 centrale.2 europea.1 | f Europäisch-.1 Zentralbank.23 | topic body lone
World.1 Bank.2 | f Banque.2 mondiale.1 | f Banca.2 mondiale.1 | f Weltbank.12 | topic body lone
International.1 Monetary.2 Fund.3 | m Fonds.3 monétaire.2 international.1 | m Fondo.3 monetario.2 internazionale.1 | m International-.1 Währungsfonds.23 | topic body lone
United.1 Nations.2 | fp Nations.2 unies.1 | fp Nazioni.2 Unite.1 | fp Vereint-.1 Nationen.2 | topic body lone
Security.1 Council.2 | m Conseil.2 de.1 sécurité.1 | m Consiglio.2 di.1 sicurezza.1 | m Sicherheitsrat.12 | topic body lone
"""

# Names put together freely, so that every word counts: European Economic Area, African Cultural Fund …
_ORIGINS = """
European | européen européenne | europeo europea | Europäisch-
African | africain africaine | africano africana | Afrikanisch-
Asian | asiatique asiatique | asiatico asiatica | Asiatisch-
American | américain américaine | americano americana | Amerikanisch-
"""
_FIELDS = """
Economic | économique économique | economico economica | Wirtschafts
Monetary | monétaire monétaire | monetario monetaria | Währungs
Cultural | culturel culturelle | culturale culturale | Kultur
"""
_BODIES = """
Area | f zone | m Spazio | m raum | topic
Union | f Union | f Unione | f union | topic body
Council | m Conseil | m Consiglio | m rat | topic body
Fund | m Fonds | m Fondo | m fonds | topic body
Bank | f Banque | f Banca | f bank | topic body
"""

# English | French m f (+ the form before a vowel) | Italian m, or all four | German predicate (stem) | scale | tags
_ADJECTIVES = """
small | < petit petite | piccolo | klein | size | kid animal object place
big | < grand grande | grande | groß | size | animal object place opening
beautiful | < beau belle bel | bello | schön | beauty | pretty animal object place opening
old | < vieux vieille vieil | vecchio vecchia vecchi vecchie | alt | age | adult old animal object building town opening paper public
new | < nouveau nouvelle nouvel | nuovo | neu | age | expert object building opening public
young | < jeune jeune | giovane | jung | age | adult
good | < bon bonne | buono | gut | beauty | expert food fruit good
red | rouge rouge | rosso | rot | color | color
blue | bleu bleue | blu blu blu blu | blau | color | color
white | blanc blanche | bianco bianca bianchi bianche | weiß | color | color animal
black | noir noire | nero | schwarz | color | color animal
tiny | minuscule minuscule | minuscolo | winzig | size | tiny
cozy | confortable confortable | accogliente | gemütlich | comfort | cozy
heavy | lourd lourde | pesante | schwer | weight | heavy
empty | vide vide | vuoto | leer | content | empty
expensive | cher chère | caro | teuer teur | price | dear
famous | célèbre célèbre | famoso | berühmt | fame | adult famous
modern | moderne moderne | moderno | modern | age | modern
cold | froid froide | freddo | kalt | heat | heat
hot | chaud chaude | caldo | heiß | heat | heat
quiet | calme calme | tranquillo | ruhig | noise | quiet adult
important | important importante | importante | wichtig | rank | weighty
tired | fatigué fatiguée | stanco stanca stanchi stanche | müde | health | feels
happy | heureux heureuse | felice | glücklich | mood | feels
sick | malade malade | malato | krank | mood | feels
"""

# English base, third person, participle | French | Italian | German present of I, she, they, participle (prefix) | tags
_VERBS = """
see sees seen | vois voit voyons voient voir vu | vedo vede vediamo vedono vedere visto | sehe sieht sehen gesehen | person animal object place plant opening
buy buys bought | achète achète achetons achètent acheter acheté | compro compra compriamo comprano comprare comprato | kaufe kauft kaufen gekauft | object food fruit animal estate paper
sell sells sold | vends vend vendons vendent vendre vendu | vendo vende vendiamo vendono vendere venduto | verkaufe verkauft verkaufen verkauft | object fruit animal estate
read reads read | lis lit lisons lisent lire lu | leggo legge leggiamo leggono leggere letto | lese liest lesen gelesen | paper readable
write writes written | écris écrit écrivons écrivent écrire écrit | scrivo scrive scriviamo scrivono scrivere scritto | schreibe schreibt schreiben geschrieben | written
open opens opened | ouvre ouvre ouvrons ouvrent ouvrir ouvert | apro apre apriamo aprono aprire aperto | öffne öffnet öffnen geöffnet | opens
close closes closed | ferme ferme fermons ferment fermer fermé | chiudo chiude chiudiamo chiudono chiudere chiuso | schließe schließt schließen geschlossen | closes
find finds found | trouve trouve trouvons trouvent trouver trouvé | trovo trova troviamo trovano trovare trovato | finde findet finden gefunden | object paper animal
look-for looks-for looked-for | cherche cherche cherchons cherchent chercher cherché | cerco cerca cerchiamo cercano cercare cercato | suche sucht suchen gesucht | object paper animal kid
love loves loved | aime aime aimons aiment aimer aimé | amo ama amiamo amano amare amato | liebe liebt lieben geliebt | person animal
invite invites invited | invite invite invitons invitent inviter invité | invito invita invitiamo invitano invitare invitato | lade lädt laden eingeladen ein | person
call calls called | appelle appelle appelons appellent appeler appelé | chiamo chiama chiamiamo chiamano chiamare chiamato | rufe ruft rufen angerufen an | person
help helps helped | aide aide aidons aident aider aidé | aiuto aiuta aiutiamo aiutano aiutare aiutato | helfe hilft helfen geholfen | person dative
prepare prepares prepared | prépare prépare préparons préparent préparer préparé | preparo prepara prepariamo preparano preparare preparato | bereite bereitet bereiten zubereitet zu | dish
eat eats eaten | mange mange mangeons mangent manger mangé | mangio mangia mangiamo mangiano mangiare mangiato | esse isst essen gegessen | edible
visit visits visited | visite visite visitons visitent visiter visité | visito visita visitiamo visitano visitare visitato | besuche besucht besuchen besucht | tour
have has had | ai a avons ont avoir eu | ho ha abbiamo hanno avere avuto | habe hat haben gehabt | object animal several estate home
give gives given | donne donne donnons donnent donner donné | do dà diamo danno dare dato | gebe gibt geben gegeben | portable
show shows shown | montre montre montrons montrent montrer montré | mostro mostra mostriamo mostrano mostrare mostrato | zeige zeigt zeigen gezeigt | portable
send sends sent | envoie envoie envoyons envoient envoyer envoyé | mando manda mandiamo mandano mandare mandato | schicke schickt schicken geschickt | portable
sleep sleeps - | dors dort dormons dorment - - | dormo dorme dormiamo dormono - - | schlafe schläft schlafen - |
work works - | travaille travaille travaillons travaillent - - | lavoro lavora lavoriamo lavorano - - | arbeite arbeitet arbeiten - |
sing sings - | chante chante chantons chantent - - | canto canta cantiamo cantano - - | singe singt singen - |
dance dances - | danse danse dansons dansent - - | ballo balla balliamo ballano - - | tanze tanzt tanzen - |
laugh laughs - | ris rit rions rient - - | rido ride ridiamo ridono - - | lache lacht lachen - |
say says - | dis dit disons disent - - | dico dice diciamo dicono - - | sage sagt sagen - |
know knows - | sais sait savons savent - - | so sa sappiamo sanno - - | weiß weiß wissen - |
can can - | peux peut pouvons peuvent - - | posso può possiamo possono - - | kann kann können - |
must must - | dois doit devons doivent - - | devo deve dobbiamo devono - - | muss muss müssen - |
want wants - | veux veut voulons veulent - - | voglio vuole vogliamo vogliono - - | will will wollen - |
sign - signed | - - - - - signé | - - - - - firmato | - - - unterzeichnet | signed public
build - built | - - - - - construit | - - - - - costruito | - - - gebaut | building
publish - published | - - - - - publié | - - - - - pubblicato | - - - veröffentlicht | public written
approve - approved | - - - - - approuvé | - - - - - approvato | - - - gebilligt | public
reject - rejected | - - - - - rejeté | - - - - - respinto | - - - abgelehnt | public
arrive - arrived | - - - - - arrivé | - - - - - arrivato | - - - angekommen |
leave - left | - - - - - parti | - - - - - partito | - - - abgereist |
return - returned | - - - - - revenu | - - - - - tornato | - - - zurückgekehrt |
"""

LANGUAGES = ("fr", "it", "de")

# English: French, Italian, German.
NUMBERS = {
    "two": ("deux", "due", "zwei"),
    "three": ("trois", "tre", "drei"),
    "four": ("quatre", "quattro", "vier"),
    "five": ("cinq", "cinque", "fünf"),
    "ten": ("dix", "dieci", "zehn"),
}
MONTHS = {
    "January": ("janvier", "gennaio", "Januar"),
    "February": ("février", "febbraio", "Februar"),
    "March": ("mars", "marzo", "März"),
    "April": ("avril", "aprile", "April"),
    "May": ("mai", "maggio", "Mai"),
    "June": ("juin", "giugno", "Juni"),
    "July": ("juillet", "luglio", "Juli"),
    "August": ("août", "agosto", "August"),
    "September": ("septembre", "settembre", "September"),
    "October": ("octobre", "ottobre", "Oktober"),
    "November": ("novembre", "novembre", "November"),
    "December": ("décembre", "dicembre", "Dezember"),
}
DAYS = {
    "Monday": ("lundi", "lunedì", "Montag"),
    "Tuesday": ("mardi", "martedì", "Dienstag"),
    "Wednesday": ("mercredi", "mercoledì", "Mittwoch"),
    "Thursday": ("jeudi", "giovedì", "Donnerstag"),
    "Friday": ("vendredi", "venerdì", "Freitag"),
    "Saturday": ("samedi", "sabato", "Samstag"),
    "Sunday": ("dimanche", "domenica", "Sonntag"),
}
YEARS = ("1987", "1989", "1990", "1992", "1993", "1995", "1998", "2001", "2004", "2010")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _rows(table: str) -> list[list[str]]:
    return [_cells(line) for line in table.strip().splitlines()]


def _parts(words: str) -> Parts:
    """The words of a name with what they stand for: "Zentralbank.23" stands for the second and the third word."""
    split = [word.partition(".") for word in words.split()]
    return tuple((word, tuple(f"n{digit}" for digit in digits) or ("n",)) for word, _, digits in split)


def _noun(cells: list[str]) -> Noun:
    english, *others, tags = cells
    forms, gender = {}, {}
    for language, cell in zip(("en", "fr", "it", "de"), (f"- {english}", *others), strict=True):
        gender[language], *words = cell.split()
        forms[language] = (_parts(words[0]), _parts(words[-1]))
    kinds = set(tags.split()) | ({"plural"} if " " in english else set())
    return Noun(english.split()[0], forms, gender, frozenset(kinds))


def _name(cells: list[str]) -> Noun:
    english, *others, tags = cells
    forms, gender = {"en": (_parts(english),) * 2}, {"en": "-"}
    for language, cell in zip(("fr", "it", "de"), others, strict=True):
        gender[language], _, words = cell.partition(" ")
        forms[language] = (_parts(words),) * 2
    return Noun(" ".join(word for word, _ in forms["en"][0]), forms, gender, frozenset(tags.split()))


def _combined(origin: list[str], field: list[str], body: list[str]) -> list[str]:
    """The cells of a name of three words: the last comes first in French and Italian, German joins two."""
    cells = [f"{origin[0]}.1 {field[0]}.2 {body[0]}.3"]
    for i in (1, 2):
        gender, noun = body[i].split()
        of, where = (words[i].split()["mf".index(gender)] for words in (field, origin))
        cells.append(f"{gender} {noun}.3 {of}.2 {where}.1")
    gender, noun = body[3].split()
    return [*cells, f"{gender} {origin[3]}.1 {field[3]}{noun}.23", body[4]]


def _adjective(cells: list[str]) -> Adjective:
    english, french, italian, german, scale, tags = cells
    before = french.startswith("<")
    m, f, *liaison = french.removeprefix("<").split()
    plural = m if m[-1] in "sx" else m + "x" if m.endswith("eau") else m + "s"
    it = italian.split()
    if len(it) == 1:
        it = [it[0][:-1] + end for end in ("oaie" if it[0].endswith("o") else "eeii")]
    de = german.split()
    forms = {"en": (english,), "fr": (m, f, plural, f + "s", *liaison), "it": tuple(it), "de": (de[0], de[-1])}
    return Adjective(english, forms, before, scale, frozenset(tags.split()))


def _verb(cells: list[str]) -> Verb:
    english, french, italian, german, tags = cells
    ich, er, wir, participle, *prefix = german.split()
    separated = prefix[0] if prefix else ""
    forms = {
        "en": tuple(english.split()),
        "fr": tuple(french.split()),
        "it": tuple(italian.split()),
        "de": (ich, er, wir, wir, separated + wir, participle),
    }
    kinds = frozenset(tags.split())
    return Verb(english.split()[0], forms, separated, "dative" in kinds, kinds - {"dative"})


NOUNS = {noun.name: noun for noun in map(_noun, _rows(_NOUNS))}
_COMBINED = [_combined(o, f, b) for o in _rows(_ORIGINS) for f in _rows(_FIELDS) for b in _rows(_BODIES)]
NAMES = {name.name: name for name in map(_name, [*_rows(_NAMES), *_COMBINED])}
ADJECTIVES = {adjective.name: adjective for adjective in map(_adjective, _rows(_ADJECTIVES))}
VERBS = {verb.name: verb for verb in map(_verb, _rows(_VERBS))}
