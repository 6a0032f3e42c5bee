"""Tokens a second of streaming clients of several servers with OpenAI's API, by turns, from a process of its own.

    python bench/serving_race.py 'weft=weft serve runs/gpt2 --port 8101' \\
        'transformers=transformers serve gpt2-hf --port 8102' --model weft=gpt2 --model transformers=gpt2-hf

Each server is a command that holds `--port N`; it is started here and ended here. Loopback only. Prints JSON: for each
server the median tokens per second of 1 and of --clients clients and the time to the first event, the ratios of the
first server to the others, and how many texts ended before their last token: the figures of a server that has many of
them say nothing.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import signal
import statistics
import subprocess
import time
from typing import Any

READY_SECONDS = 120


async def stream(port: int, body: dict[str, Any]) -> tuple[float, bool]:
    """Seconds to the first event of one streamed completion, and whether it had all its tokens."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said, start = json.dumps(body).encode(), time.perf_counter()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(said)}\r\nConnection: close\r\n\r\n".encode() + said)
    status = (await reader.readline()).split()
    first, whole = 0.0, False
    while line := await reader.readline():
        if line.startswith(b"data: {"):
            first = first or time.perf_counter() - start
            whole |= any(one.get("finish_reason") == "length" for one in json.loads(line[6:]).get("choices", ()))
    writer.close()
    assert status[1] == b"200" and first, f"port {port} answered {status}"
    return first, whole


async def rate(port: int, model: str, clients: int, tokens: int, more: dict[str, Any]) -> tuple[float, float, int]:
    """Tokens per second of all clients together, the median seconds to a first event, and the texts cut short."""
    body = {"model": model, "prompt": "Once upon a time", "max_tokens": tokens, "stream": True,
            "temperature": 1.0, "top_p": 1.0, **more}  # fmt: skip
    start = time.perf_counter()
    found = await asyncio.gather(*(stream(port, {**body, "seed": i}) for i in range(clients)))
    seconds, cut = time.perf_counter() - start, sum(not whole for _, whole in found)
    return clients * tokens / seconds, statistics.median(first for first, _ in found), cut


def ready(port: int) -> None:
    """Wait until somebody listens at a port."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            asyncio.run(asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 1))
        except (OSError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"nobody listens at port {port}")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("servers", nargs="+", metavar="NAME=COMMAND")
    words.add_argument("--model", action="append", default=[], metavar="NAME=MODEL")
    words.add_argument("--extra", action="append", default=[], metavar="NAME=JSON", help="fields of its requests")
    for name, usual in (("tokens", 32), ("clients", 8), ("rounds", 3)):
        words.add_argument(f"--{name}", type=int, default=usual)
    asked = words.parse_args()
    models = dict(one.split("=", 1) for one in asked.model)
    extra = {name: json.loads(text) for name, text in (one.split("=", 1) for one in asked.extra)}
    commands = {name: shlex.split(text) for name, text in (one.split("=", 1) for one in asked.servers)}
    ports = {name: int(words[words.index("--port") + 1]) for name, words in commands.items()}
    running: list[subprocess.Popen[bytes]] = []
    rates: dict[str, dict[str, list[float]]] = {}
    cut = dict.fromkeys(commands, 0)
    try:
        for command in commands.values():
            running.append(subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL))
        for name in commands:
            ready(ports[name])
            asyncio.run(rate(ports[name], models.get(name, name), 1, 2, extra.get(name, {})))
        for _ in range(asked.rounds):
            for name in commands:
                for clients in (1, asked.clients):
                    given = (ports[name], models.get(name, name), clients, asked.tokens, extra.get(name, {}))
                    found, first, short = asyncio.run(rate(*given))
                    cut[name] += short
                    own = rates.setdefault(name, {})
                    own.setdefault(f"clients {clients}", []).append(found)
                    own.setdefault(f"first event {clients}", []).append(first)
    finally:
        for one in running:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(one.pid, signal.SIGTERM)
        for one in running:
            one.wait(30)
    middle = {name: {what: statistics.median(some) for what, some in own.items()} for name, own in rates.items()}
    ours, *others = middle
    many, one = f"clients {asked.clients}", "clients 1"
    print(json.dumps({
        "tokens_per_second": {name: {what: round(x, 3) for what, x in own.items()} for name, own in middle.items()},
        "many_to_one": {name: round(own[many] / own[one], 2) for name, own in middle.items()},
        "cut_short": cut,
        "ratios": {name: {what: round(middle[ours][what] / middle[name][what], 2) for what in (one, many)}
                   for name in others},
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
