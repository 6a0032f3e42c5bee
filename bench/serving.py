"""Tokens a second of streaming clients of `weft serve` against one offline batch, in one process, by turns.

    python bench/serving.py FOLDER [--shape gpt2] [--tokens 32] [--clients 8] [--repeats 3]

FOLDER is a run of a language model; with --shape gpt2 its model is replaced by one of GPT-2's size with random weights.
Of `first_token_seconds`, `start` is a session that reads the prompt without a server, `alone` and `beside` are a first
event, for a client that comes alone and for one that comes while others write, and `step` is a step of these.
"""

import argparse
import http.client
import json
import statistics
import threading
import time
from dataclasses import replace

import weft
from weft.generate import Sampling, Session, generate
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.runs.run import Run
from weft.tasks.asks import Given
from weft.web.app import application
from weft.web.guard import Allowed
from weft.web.limits import Limits
from weft.web.serving import Listener, Server
from weft.web.table import RunTable, ServedRun


def client(port: int, seed: int, tokens: int, first: list[float]) -> None:
    body = {"model": "it", "prompt": "Once upon a time", "max_tokens": tokens, "temperature": 1.0, "top_p": 1.0,
            "seed": seed, "stream": True}  # fmt: skip
    made, start = http.client.HTTPConnection("127.0.0.1", port), time.perf_counter()
    made.request("POST", "/v1/completions", json.dumps(body), {"content-type": "application/json"})
    answer = made.getresponse()
    answer.readline()
    first.append(time.perf_counter() - start)
    assert answer.read().endswith(b"data: [DONE]\n\n")


def served(port: int, clients: int, tokens: int) -> tuple[float, float]:
    first: list[float] = []
    threads = [threading.Thread(target=client, args=(port, seed, tokens, first)) for seed in range(clients)]
    start = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return clients * tokens / (time.perf_counter() - start), statistics.median(first)


def start(run: Run) -> float:
    """Seconds in which a session reads the prompt that clients send."""
    (prompt,) = run.task.rows(run.loaded, [Given("Once upon a time")], run.task.Predict())
    session, began = Session(run.loaded.stream), time.perf_counter()
    session.start([prompt.ids])
    return time.perf_counter() - began


def first_beside(port: int, others: int, tokens: int) -> tuple[float, float]:
    """Seconds to the first event of a client that comes while others write, and those of a step of theirs."""
    early, late = list[float](), list[float]()
    threads = [threading.Thread(target=client, args=(port, seed, tokens, early)) for seed in range(others)]
    began = time.perf_counter()
    for one in threads:
        one.start()
    while len(early) < others and all(one.is_alive() for one in threads):
        time.sleep(0.001)
    client(port, others, 1, late)
    for one in threads:
        one.join()
    return late[0], (time.perf_counter() - began) / tokens


def offline(run: Run, rows: int, tokens: int) -> float:
    how = Sampling(temperature=1.0, top_p=1.0, max_tokens=tokens, samples=rows)
    (prompt,) = run.task.rows(run.loaded, [Given("Once upon a time")], run.task.Predict())
    start = time.perf_counter()
    (found,) = generate(Session(run.loaded.stream), prompt.tokenizer, [prompt.ids], how, ends=[-1])
    return sum(len(one.ids) for one in found) / (time.perf_counter() - start)


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("folder")
    words.add_argument("--shape", choices=["gpt2"])
    for name, usual in (("tokens", 32), ("clients", 8), ("repeats", 3)):
        words.add_argument(f"--{name}", type=int, default=usual)
    asked = words.parse_args()
    run = weft.load(asked.folder)
    if asked.shape:
        size = Size(dim=768, depth=12, heads=12, context=1024)
        (prompt,) = run.task.rows(run.loaded, [Given("")], run.task.Predict())
        model = LANGUAGE_MODELS["gpt"](size, vocab=prompt.tokenizer.size).build().eval()
        run = Run(replace(run.loaded, model=model))
    bound = Listener()
    bound.bind(("127.0.0.1", 0))
    app, state = application(RunTable([ServedRun("it", run)]), Allowed(bound.getsockname()[1]), Limits())
    server = Server(app, state)
    threading.Thread(target=lambda: server.run(sockets=[bound]), daemon=True).start()
    port = bound.getsockname()[1]
    while not server.started:
        time.sleep(0.01)
    served(port, 1, 4)
    rates: dict[str, list[float]] = {"offline": [], "clients": [], "one": [], "first": [], "start": [], "alone": []}
    rates |= {"beside": [], "step": []}
    for _ in range(asked.repeats):
        rates["offline"].append(offline(run, asked.clients, asked.tokens))
        many, first = served(port, asked.clients, asked.tokens)
        rates["clients"].append(many)
        rates["first"].append(first)
        rates["one"].append(served(port, 1, asked.tokens)[0])
        rates["start"].append(start(run))
        rates["alone"].append(served(port, 1, 1)[1])
        beside, step = first_beside(port, asked.clients - 1, asked.tokens)
        rates["beside"].append(beside)
        rates["step"].append(step)
    middle = {name: statistics.median(some) for name, some in rates.items()}
    print(json.dumps({
        "tokens_per_second": {name: round(middle[name], 1) for name in ("offline", "clients", "one")},
        "clients_to_offline": round(middle["clients"] / middle["offline"], 2),
        "clients_to_one": round(middle["clients"] / middle["one"], 2),
        "median_first_event_seconds": round(middle["first"], 3),
        "first_token_seconds": {name: round(middle[name], 4) for name in ("start", "alone", "beside", "step")},
        "clients": asked.clients,
        "tokens": asked.tokens,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
