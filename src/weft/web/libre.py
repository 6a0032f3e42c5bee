"""/translate and /languages, in the shape of LibreTranslate's API."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.config import field_types
from weft.files.languages import language
from weft.generate.stopping import Stop
from weft.runs.asking import NoSettings, checked, look
from weft.tasks.asks import Answer, Given
from weft.web.bodies import fields_of, typed
from weft.web.jobs import AskJob, CallJob, Cost
from weft.web.predict import asked_tokens, settled
from weft.web.replies import GONE, Refusal, reply
from weft.web.sending import finished
from weft.web.state import ServerState, state_of
from weft.web.table import ServedRun

MOST_ALTERNATIVES = 5


def languages_of(served: ServedRun) -> tuple[str, str]:
    """The codes of the languages that a run translates between; its own words where they name none."""
    source, target = (*served.run.loaded.data.columns, "source", "target")[:2]
    return language(source) or source, language(target) or target


def known_languages(served: ServedRun) -> tuple[str, ...]:
    """The languages of a model that has marks for several; none where it translates between two alone."""
    config = getattr(served.run.loaded.codecs.get("source"), "config", None)
    return tuple(getattr(config, "languages", ()) or ())


async def languages(request: Request) -> Response:
    """The languages that texts can be in, each with those that they can be translated into."""
    found: dict[str, set[str]] = {}
    for served in state_of(request).table.having("translates"):
        many = [language(one) or one for one in known_languages(served)]
        source, target = languages_of(served)
        for code in many or [source]:
            found.setdefault(code, set()).update(many or [target])
    return reply([{"code": code, "name": code, "targets": sorted(found[code] - {code})} for code in sorted(found)])


async def translate(request: Request) -> Response:
    """A text, or several, in another language."""
    state = state_of(request)
    fields = await fields_of(request, state.limits)
    q, source, target = fields.any("q"), fields.take("source", str, "auto"), fields.take("target", str, "")
    alternatives, form = fields.take("alternatives", int, 0), fields.take("format", str, "text")
    aligned = fields.take("alignment", bool, False)
    fields.ignore("api_key")
    fields.end()
    texts = [q] if isinstance(q, str) else typed(q, list, "q")
    if not 1 <= len(texts) <= state.limits.inputs or not all(isinstance(one, str) for one in texts):
        raise Refusal(400, f"expected a text, or from 1 to {state.limits.inputs} texts", where="q")
    if form != "text" or not 0 <= alternatives <= MOST_ALTERNATIVES:
        where = "format" if form != "text" else "alternatives"
        raise Refusal(400, f"expected the format text, and at most {MOST_ALTERNATIVES} alternatives", where=where)
    served, settings = _chosen(state, source, target)
    settings |= {"best": 1 + alternatives} if alternatives else {}
    how = settled(served, settings)
    cost = Cost(int(request.headers.get("content-length", "0")), asked_tokens(how) * len(texts))
    job = AskJob(served, "predict", [Given(one) for one in texts], how, cost=cost, unsent=state.limits.unsent)
    state.engine.submit(job)
    found = await finished(request, job)
    best = [[_text(one) for number, one in found if number == i] for i in range(len(texts))]
    told: list[Any] = [some[0] for some in best]
    others = [some[1:] for some in best]
    one = isinstance(q, str)
    answer: dict[str, Any] = {"translatedText": told[0] if one else told}
    answer |= {"alternatives": others[0] if one else others} if alternatives else {}
    if aligned:
        tables = await _alignments(request, served, texts, told)
        answer["alignment"] = tables[0] if one else tables
    return reply(answer)


async def _alignments(
    request: Request, served: ServedRun, texts: Sequence[str], translations: Sequence[str]
) -> list[dict[str, Any]]:
    """For each text, how much of its words was read when each word of the translation was written.

    Rows are words of the translation. Where a model has no attention between both, a weight says how far a word of the
    translation becomes less likely without a word of the text.
    """
    state, run = state_of(request), served.run
    if "target" not in field_types(run.task.Look or NoSettings):
        raise Refusal(400, "this run tells no alignment", where="alignment", fix="leave it out")

    def call(stop: Stop) -> list[dict[str, Any]]:
        found = list[dict[str, Any]]()
        for text, translation in zip(texts, translations, strict=True):
            if stop():
                raise Refusal(GONE, "the client has gone")
            how = checked(run, "look", {"target": translation}, files=False)
            words = look(run, [Given(text)], how).to_json() if translation else {}
            found.append({"source": words.get("source_words", []), "target": words.get("target_words", []),
                          "weights": words.get("weights", [])})  # fmt: skip
        return found

    job = CallJob(served, call, cost=Cost(sum(map(len, texts))), unsent=state.limits.unsent)
    state.engine.submit(job)
    made: list[dict[str, Any]] = await finished(request, job)
    return made


def _text(answer: Answer) -> str:
    if answer.error is not None:
        raise answer.error
    return str(answer.values["text"])


def _chosen(state: ServerState, source: str, target: str) -> tuple[ServedRun, dict[str, Any]]:
    """The run that translates between two languages, with its settings; the first that can where several do."""
    wanted = (language(source) or source, language(target) or target)
    able = state.table.having("translates")
    for served in able:
        own, other = languages_of(served)
        if wanted[0] in (own, "auto") and wanted[1] in (other, ""):
            return served, {}
    for served in able:
        if known_languages(served):
            said = {"source_language": source, "target_language": target}
            return served, {name: word for name, word in said.items() if word not in ("", "auto")}
    known = ", ".join(" to ".join(languages_of(one)) for one in able) or "nothing"
    raise Refusal(400, "no run translates between these languages", where="target", fix=f"known: {known}")
