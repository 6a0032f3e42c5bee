"""The API in OpenAI's and LibreTranslate's shape: the same texts as in Python, alone and beside others."""

import base64
import json
import sys
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.serving import Running, read_until, until

from weft.core.changes import Without
from weft.domains.texts.codec.turns import TurnCodec
from weft.generate.together import Together
from weft.runs.run import Run
from weft.tasks.asks import Given
from weft.web.table import RunTable, ServedRun

WRITE, CHAT = "/v1/completions", "/v1/chat/completions"
ASK: dict[str, Any] = {"model": "language-model", "prompt": "Once", "max_tokens": 12, "temperature": 0.8, "seed": 3}
LONG = {**ASK, "max_tokens": 200_000}


def text_of(table: RunTable, prompt: str, **settings: Any) -> list[str]:
    return [one["text"] for one in table["language-model"].run.predict(prompt, **settings)]


def test_completions_are_those_of_python(server: Running, table: RunTable):
    found = server.post(WRITE, {**ASK, "n": 3}).json
    known = text_of(table, "Once", max_tokens=12, temperature=0.8, seed=3, samples=3)
    assert [one["text"] for one in found["choices"]] == known and [one["index"] for one in found["choices"]] == [
        0,
        1,
        2,
    ]
    assert found["usage"] == {"prompt_tokens": 5, "completion_tokens": 36, "total_tokens": 41}, "a mark begins a text"
    assert found["object"] == "text_completion" and {one["finish_reason"] for one in found["choices"]} <= {
        "length",
        "stop",
    }
    several = server.post(WRITE, {**ASK, "prompt": ["Once", "The"], "n": 2}).json["choices"]
    assert [one["text"] for one in several[:2]] == known[:2] and len(several) == 4


def test_a_token_is_sent_before_the_model_reads_it(server: Running, monkeypatch: pytest.MonkeyPatch):
    heard, sent_before, advance = threading.Event(), list[bool](), Together.advance
    until(lambda: server.state.engine.idle)  # what an earlier client asked for is not to wait for this one

    def wait(self: Together) -> None:
        sent_before.append(heard.wait(20))
        advance(self)

    monkeypatch.setattr(Together, "advance", wait)
    with server.connected() as made:
        made.sendall(server.request("POST", WRITE, {**ASK, "stream": True}, None))
        said = read_until(made, b"data: {")
        heard.set()
        if b"[DONE]" not in said:
            read_until(made, b"[DONE]")
    assert all(sent_before)


def test_a_stream_has_the_same_text_and_ends_with_done(server: Running, table: RunTable):
    *events, usage, done = server.post(WRITE, {**ASK, "stream": True, "stream_options": {"include_usage": True}}).events
    known = text_of(table, "Once", max_tokens=12, temperature=0.8, seed=3)[0]
    assert "".join(one["choices"][0]["text"] for one in events) == known and done == "[DONE]"
    assert events[-1]["choices"][0]["finish_reason"] == "length" and usage["usage"]["completion_tokens"] == 12


def test_a_text_ends_before_a_stop(server: Running, table: RunTable):
    whole = text_of(table, "Once", max_tokens=60, temperature=0)[0]
    stop = whole[5:8]
    found = server.post(WRITE, {**ASK, "max_tokens": 60, "temperature": 0, "stop": stop}).json["choices"][0]
    assert found["text"] == whole[: whole.find(stop)] and found["finish_reason"] == "stop"


def test_without_a_seed_texts_differ(server: Running):
    asked = {**ASK, "seed": None, "max_tokens": 40, "temperature": 1.0}
    assert len({server.post(WRITE, asked).json["choices"][0]["text"] for _ in range(4)}) > 1


def test_prompts_are_scored_without_a_word_being_written(server: Running, table: RunTable):
    found = server.post(WRITE, {**ASK, "prompt": "The weaver", "echo": True, "logprobs": 2, "max_tokens": 0}).json
    (one,) = found["choices"]
    scores = one["logprobs"]
    assert one["text"] == "The weaver" == "".join(scores["tokens"]) and found["usage"]["completion_tokens"] == 0
    assert scores["token_logprobs"][0] is None and all(p < 0 for p in scores["token_logprobs"][1:])
    assert scores["text_offset"] == [0, *range(10)] and all(len(best) == 2 for best in scores["top_logprobs"][1:])
    longer = server.post(WRITE, {**ASK, "echo": True, "logprobs": 0, "max_tokens": 5}).json["choices"][0]
    assert len(longer["logprobs"]["tokens"]) == 10 and "".join(longer["logprobs"]["tokens"]) == longer["text"]
    again = server.post(WRITE, {**ASK, "prompt": longer["text"], "echo": True, "logprobs": 0, "max_tokens": 0}).json
    assert again["choices"][0]["logprobs"]["token_logprobs"][1:] == pytest.approx(
        longer["logprobs"]["token_logprobs"][1:], abs=1e-4
    )
    run = table["language-model"].run
    ids = run.task.rows(run.loaded, [Given("The weaver")], run.task.Predict())[0].ids
    by_ids = server.post(WRITE, {**ASK, "prompt": ids, "echo": True, "logprobs": 2, "max_tokens": 0}).json["choices"][0]
    assert by_ids == one


def test_a_model_without_a_template_talks_in_plain_words_and_says_so(server: Running):
    talk = [{"role": "system", "content": "Be"}, {"role": "user", "content": [{"type": "text", "text": "Who"}]}]
    asked = {"model": "language-model", "messages": talk[1:], "max_tokens": 4, "seed": 1}
    found = server.post(CHAT, asked).json
    assert found["choices"][0]["message"]["role"] == "assistant" and "no chat template" in found["weft"]["notes"][0]
    assert found["object"] == "chat.completion" and found["usage"]["completion_tokens"] <= 4
    *events, done = server.post(CHAT, {**asked, "stream": True}).events
    assert events[0]["choices"][0]["delta"]["role"] == "assistant" and done == "[DONE]"
    said = "".join(one["choices"][0]["delta"].get("content", "") for one in events)
    assert said.strip() == found["choices"][0]["message"]["content"]
    scored = server.post(CHAT, {**asked, "logprobs": True, "top_logprobs": 1}).json["choices"][0]["logprobs"]["content"]
    assert len(scored[0]["top_logprobs"]) == 1 and scored[0]["logprob"] <= 0


def test_vectors_are_those_of_python(server: Running, table: RunTable):
    texts = ["the soup was fine", "no"]
    known = table["classify-text"].run.embed(texts)
    found = server.post("/v1/embeddings", {"model": "classify-text", "input": texts}).json["data"]
    assert np.allclose([one["embedding"] for one in found], known, atol=1e-6)
    packed = server.post("/v1/embeddings", {"model": "classify-text", "input": texts[0], "encoding_format": "base64"})
    vector = np.frombuffer(base64.b64decode(packed.json["data"][0]["embedding"]), "<f4")
    assert np.allclose(vector, known[0], atol=1e-6)
    short = server.post("/v1/embeddings", {"model": "classify-text", "input": texts, "dimensions": 2}).json["data"]
    assert np.allclose(np.linalg.norm([one["embedding"] for one in short], axis=1), 1, atol=1e-5)


def test_texts_are_translated_as_libretranslate_does(server: Running, table: RunTable):
    known = table["translate"].run.predict("The dog.", beam=5, best=3)
    (pair,) = server.get("/languages").json
    asked = {"q": "The dog.", "source": pair["code"], "target": pair["targets"][0], "alternatives": 2}
    found = server.post("/translate", asked).json
    assert [found["translatedText"], *found["alternatives"]] == [one["text"] for one in known]
    many = server.post(
        "/translate", {"q": ["The dog.", "The dog."], "source": "auto", "target": pair["targets"][0]}
    ).json
    assert many["translatedText"] == [known[0]["text"]] * 2
    assert server.post("/translate", {**asked, "target": "xx"}).status == 400
    assert server.post("/translate", {**asked, "alternatives": 10_000}).status == 400


def test_models_say_how_they_write(server: Running, table: RunTable):
    found = {one["id"]: one["weft"] for one in server.get("/v1/models").json["data"]}
    assert set(found) == set(table) and found["language-model"]["chat"] == "plain turns"
    assert server.get("/v1/models/translate").json["id"] == "translate"
    assert server.get("/v1/models/x").status == 404


@pytest.mark.parametrize(
    "more",
    [{"model": "x"}, {"model": "translate"}, {"prompt": 1}, {"prompt": []}, {"prompt": [[]]}, {"prompt": [10**9]},
     {"prompt": "a" * 5000}, {"max_tokens": -2}, {"max_tokens": 10**9}, {"n": 0}, {"n": 10**6}, {"temperature": -1},
     {"temperature": 1e9}, {"top_p": 0}, {"stop": [""]}, {"stop": ["x"] * 10_000}, {"logprobs": 10**6}, {"seed": "x"},
     {"best_of": 5}, {"logit_bias": {"1": 2}}, {"presence_penalty": 1}, {"sed": 1}, {"stream": "yes"},
     {"weft": {"schema": "/etc/passwd"}}, {"weft": {"samples": 5}}, {"weft": {"never": [10**9]}}],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_refused(server: Running, more: dict[str, Any]):
    answer = server.post(WRITE, {**ASK, **more})
    assert answer.status in (400, 404) and answer.json["error"]["message"] and len(answer.body) < 4096


def test_the_name_of_a_special_token_in_a_prompt_is_text(server: Running):
    found = server.post(WRITE, {**ASK, "prompt": "<|end|>", "max_tokens": 0, "echo": True, "logprobs": 0}).json
    assert found["usage"]["prompt_tokens"] > 1


def test_texts_beside_others_are_those_alone_and_leaving_ends_a_row(table: RunTable):
    server = Running(table)
    try:
        alone = [
            server.post(WRITE, {**ASK, "seed": seed, "max_tokens": 60}).json["choices"][0]["text"] for seed in range(6)
        ]
        found: dict[int, str] = {}

        def ask(seed: int) -> None:
            answer = server.post(WRITE, {**ASK, "seed": seed, "max_tokens": 60, "temperature": 0.8})
            found[seed] = answer.json["choices"][0]["text"]

        with server.connected() as other:
            other.sendall(server.request("POST", WRITE, {**LONG, "stream": True, "seed": 77}, None))
            until(lambda: server.state.engine._writers and not server.state.engine._waiting)
            threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            assert not server.state.engine.idle, "the first is still being written"
        assert until(lambda: server.state.engine.idle) < 1
        assert [found[seed] for seed in range(6)] == alone
        assert server.metric("weft_left_total") == 1 and server.metric("weft_rows") == 0
    finally:
        server.close()


def test_texts_go_on_while_other_work_is_done(table: RunTable):
    server = Running(table)
    try:
        with server.connected() as other:
            other.sendall(server.request("POST", "/api/predict/language-model", {
                "input": "a", "settings": {"max_tokens": 200_000}}, None))  # fmt: skip
            until(lambda: not server.state.engine.idle)
            assert server.post(WRITE, ASK).status == 200
            assert not server.state.engine.idle
    finally:
        server.close()


def test_the_real_client_of_openai_reads_it_all(server: Running):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
    assert "language-model" in {one.id for one in client.models.list()}
    asked = {"model": "language-model", "max_tokens": 12, "seed": 3, "temperature": 0.8}
    whole = client.completions.create(prompt="Once", logprobs=1, **asked)
    parts = [one.choices[0].text for one in client.completions.create(prompt="Once", stream=True, **asked)]
    assert "".join(parts) == whole.choices[0].text and len(whole.choices[0].logprobs.tokens) == 12
    talk: Any = [{"role": "user", "content": "Who"}]
    said = client.chat.completions.create(messages=talk, **asked).choices[0].message.content
    heard = client.chat.completions.create(messages=talk, stream=True, **asked)
    assert "".join(one.choices[0].delta.content or "" for one in heard).strip() == said
    vectors = client.embeddings.create(model="classify-text", input=["a", "b"]).data
    assert len(vectors) == 2 and len(vectors[0].embedding) == len(vectors[1].embedding) > 1
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="x", prompt="a")


def test_a_changed_model_writes_for_one_request_beside_the_others(server: Running, table: RunTable):
    change, ask = {"type": "Without", "layer": 1, "branch": "mix"}, {**ASK, "temperature": 0, "max_tokens": 40}
    plain = server.post(WRITE, ask).json["choices"][0]["text"]
    with table["language-model"].run.changed(Without(1, branch="mix")):
        known = text_of(table, "Once", max_tokens=40, temperature=0, seed=3)[0]
    found: dict[str, str] = {}

    def asked(name: str, more: dict[str, Any]) -> None:
        found[name] = server.post(WRITE, {**ask, **more}).json["choices"][0]["text"]

    both = {"changed": {"weft": {"changes": [change]}}, "plain": {}}
    threads = [threading.Thread(target=asked, args=one) for one in both.items()]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == {"changed": known, "plain": plain} and known != plain
    for bad in ([{**change, "layer": 99}], [{**change, "row": 1}], [{**change, "type": "Replaced", "of": "x"}], "x"):
        assert server.post(WRITE, {**ask, "weft": {"changes": bad}}).status == 400


def test_programs_send_forms_as_libretranslate_takes_them_and_pages_cannot(server: Running):
    (pair,) = server.get("/languages").json
    form = f"q=The+dog.&source={pair['code']}&target={pair['targets'][0]}&api_key=x".encode()
    kind = {"content-type": "application/x-www-form-urlencoded"}
    found = server.ask("POST", "/translate", form, kind)
    asked = {"q": "The dog.", "source": pair["code"], "target": pair["targets"][0]}
    assert found.status == 200 and found.json == server.post("/translate", asked).json
    home = f"http://127.0.0.1:{server.port}"
    for header in ({"origin": home}, {"sec-fetch-site": "same-origin"}, {"origin": "null"}):
        assert server.ask("POST", "/translate", form, {**kind, **header}).status in (403, 415)
    for bad in (b"q", b"q=a&q=b", b"q=%ff&target=x", b"&".join(b"a%d=1" % i for i in range(99)), "q=\u00e9".encode()):
        assert server.ask("POST", "/translate", bad, kind).status == 400


def talking(table: RunTable) -> ServedRun:
    """The language model, as one that knows a chat template."""
    loaded = table["language-model"].run.loaded
    turn, begin = "{{ one.role[0] }}{{ one.content }}|", "{% if add_generation_prompt %}a{% endif %}"
    template = f"{{% for one in messages %}}{turn}{{% endfor %}}{begin}"
    turns = TurnCodec(TurnCodec.Config(template=template))
    return ServedRun("talker", Run(replace(loaded, codecs={**loaded.codecs, "turns": turns})))


def test_a_talk_is_marked_by_the_template_of_the_model(table: RunTable):
    served = talking(table)
    server = Running(RunTable([served]))
    try:
        assert server.get("/v1/models").json["data"][0]["weft"]["chat"] == "template"
        asked = {"model": "talker", "temperature": 0, "max_tokens": 12}
        talk = [{"role": "system", "content": "Be"}, {"role": "user", "content": "Who"}]
        found = server.post(CHAT, {**asked, "messages": talk}).json
        assert "weft" not in found, "nothing is to be noted"
        text = table["language-model"].run.loaded.codecs["text"]
        known = server.post(WRITE, {**asked, "prompt": text.tokenizer.encode("sBe|uWho|a").tolist()}).json
        assert found["choices"][0]["message"]["content"] == known["choices"][0]["text"].strip()
        assert found["usage"]["prompt_tokens"] == known["usage"]["prompt_tokens"]
        *events, done = server.post(CHAT, {**asked, "messages": talk, "stream": True}).events
        said = "".join(one["choices"][0]["delta"].get("content", "") for one in events)
        assert done == "[DONE]" and said.strip() == found["choices"][0]["message"]["content"]
        longer = [*talk, {"role": "assistant", "content": "I"}, {"role": "user", "content": "And?"}]
        assert server.post(CHAT, {**asked, "messages": longer}).status == 400, "it is longer than the model reads"
    finally:
        server.close()


SCHEMA = {"type": "boolean"}  # for which this model has all letters
SHAPED = {
    "model": "language-model",
    "messages": [{"role": "user", "content": "Is"}],
    "max_tokens": 60,
    "temperature": 1,
}


def test_an_answer_fits_the_schema_that_is_asked_for(server: Running):
    pytest.importorskip("llguidance")
    form = {"type": "json_schema", "json_schema": {"name": "judgement", "schema": SCHEMA, "strict": True}}
    for seed in range(4):
        choice = server.post(CHAT, {**SHAPED, "response_format": form, "seed": seed}).json["choices"][0]
        assert isinstance(json.loads(choice["message"]["content"]), bool) and choice["finish_reason"] == "stop"
    streamed = server.post(CHAT, {**SHAPED, "response_format": form, "seed": 0, "stream": True}).events[:-1]
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in streamed) in ("true", "false")
    answer = server.post(CHAT, {**SHAPED, "response_format": {"type": "json_object"}})
    assert answer.status == 400 and "no tokens" in answer.json["error"]["message"], "this model has no braces"
    plain = server.post(CHAT, {**SHAPED, "seed": 1}).json["choices"][0]
    assert server.post(CHAT, {**SHAPED, "seed": 1, "response_format": {"type": "text"}}).json["choices"][0] == plain


@pytest.mark.parametrize(
    "form",
    ["json", [], {"type": "yaml"}, {"type": "json_schema"}, {"type": "json_schema", "json_schema": {}},
     {"kind": "text"}, {"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}}},
     {"type": "json_schema", "json_schema": {"schema": {"$ref": "http://127.0.0.1:1/schema.json"}}},
     {"type": "json_schema", "json_schema": {"schema": {"$ref": "file:///etc/passwd"}}},
     {"type": "json_schema", "json_schema": {"schema": {"pattern": "(" * 200, "type": "string"}}}],
)  # fmt: skip
def test_a_form_that_cannot_be_meant_is_refused_in_words(server: Running, form: Any):
    pytest.importorskip("llguidance")
    answer = server.post(CHAT, {**SHAPED, "response_format": form})
    assert answer.status == 400 and answer.json["error"]["message"] and len(answer.body) < 4096


def test_without_the_extra_a_schema_is_refused_and_says_what_to_install(
    server: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "llguidance", None)
    answer = server.post(CHAT, {**SHAPED, "response_format": {"type": "json_object"}})
    assert answer.status == 400 and "weft[grammar]" in answer.json["error"]["message"]
    assert server.post(CHAT, SHAPED).status == 200


def test_clients_with_settings_of_their_own_are_written_together_as_alone(table: RunTable):
    server = Running(table)
    kinds: list[dict[str, Any]] = [
        {"temperature": 0}, {"temperature": 0.7}, {"top_p": 0.5}, {"weft": {"top_k": 3}}, {"stop": "e"},
        {"weft": {"min_p": 0.2}}, {"logprobs": 1}, {"weft": {"repetition_penalty": 1.3}}, {"max_tokens": 7},
    ]  # fmt: skip
    asked = [{**ASK, "max_tokens": 50, "seed": number, **more} for number, more in enumerate(kinds)]
    try:
        alone = [server.post(WRITE, one).json["choices"][0] for one in asked]
        found: dict[int, Any] = {}

        def ask(number: int) -> None:
            found[number] = server.post(WRITE, asked[number]).json["choices"][0]

        with server.connected() as other:
            other.sendall(server.request("POST", WRITE, {**LONG, "stream": True, "seed": 77}, None))
            until(lambda: server.state.engine._writers and not server.state.engine._waiting)
            threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(asked))]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
        assert [found[number] for number in range(len(asked))] == alone
    finally:
        server.close()
