"""Many clients of `weft serve` for a while, from a process of their own: statuses, health under load, memory, leaving.

    python bench/serving_load.py RUN [--clients 500] [--seconds 60] [--tokens 16] [--leaves 100]

RUN is a language model. The server is started here on loopback and ended here. Memory is read from /proc. Health is
asked for by a third process, which waits for nobody but the server. All three share the cores of this machine.
"""

import argparse
import asyncio
import collections
import http.client
import json
import multiprocessing
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def request(port: int, path: str, body: Any = None) -> bytes:
    said = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    kind = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(said)}\r\n"
    return f"{head}{kind}\r\n".encode() + said


async def ask(port: int, path: str, body: Any = None) -> tuple[int, bytes]:
    """Status and body; status 0 where the connection broke."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(port, path, body))
        head, _, rest = (await reader.read(-1)).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), rest
    except (OSError, IndexError):
        return 0, b""


async def metric(port: int, name: str) -> float:
    """A number of /metrics."""
    lines = (await ask(port, "/metrics"))[1].decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.split()[0] == name), 0.0)


def memory(pid: int) -> float:
    """Megabytes that a process holds."""
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def watch(port: int, pid: int, seconds: float, answered: Any, said: Any) -> None:
    """Ask for the health ten times a second, in a process of its own, and note the server's memory."""
    health, held, until = list[float](), list[tuple[int, float]](), time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.perf_counter()
        asked = http.client.HTTPConnection("127.0.0.1", port)
        asked.request("GET", "/healthz")
        assert asked.getresponse().status in (200, 503)
        asked.close()
        health.append(time.perf_counter() - start)
        held.append((answered.value, memory(pid)))
        time.sleep(0.1)
    said.send((health, held))


async def load(port: int, pid: int, body: Any, clients: int, seconds: float) -> dict[str, Any]:
    """Clients that ask again and again, beside one that asks for the health."""
    statuses: collections.Counter[int] = collections.Counter()
    until = time.monotonic() + seconds
    heard, said = multiprocessing.Pipe(False)
    answered = multiprocessing.Value("q", 0)
    watching = multiprocessing.Process(target=watch, args=(port, pid, seconds, answered, said))
    watching.start()

    async def client(number: int) -> None:
        while time.monotonic() < until:
            status, _ = await ask(port, "/v1/completions", {**body, "seed": number})
            statuses[status] += 1
            answered.value += 1
            await asyncio.sleep(0.0 if status == 200 else 1.0)

    await asyncio.gather(*(client(i) for i in range(clients)))
    health, held = heard.recv()
    watching.join()
    later = held[len(held) // 3 :]
    slope = statistics.linear_regression(*zip(*later, strict=True)).slope * 1000
    ordered = sorted(health)
    return {
        "statuses": dict(statuses),
        "health_ms": {f"p{share}": round(1e3 * ordered[len(ordered) * share // 100], 1) for share in (50, 99)},
        "megabytes_per_1000_requests": round(slope, 3),
    }


async def leaving(port: int, body: Any, count: int) -> dict[str, float]:
    """Seconds from a client's leaving, a moment after it asked, to the server's idleness."""
    found = []
    for i in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(port, "/v1/completions", {**body, "max_tokens": 100_000, "stream": True}))
        await writer.drain()
        await asyncio.sleep(0.005 * (i % 20))
        writer.close()
        start = time.perf_counter()
        while await metric(port, "weft_working") or await metric(port, "weft_queue"):
            await asyncio.sleep(0.002)
        found.append(time.perf_counter() - start)
    return {
        "tries": count,
        "most_ms": round(1e3 * max(found), 1),
        "median_ms": round(1e3 * statistics.median(found), 1),
    }


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("run", type=Path)
    words.add_argument("--port", type=int, default=8111)
    for name, usual in (("clients", 500), ("seconds", 60), ("tokens", 16), ("leaves", 100)):
        words.add_argument(f"--{name}", type=int, default=usual)
    asked = words.parse_args()
    command = [sys.executable, "-m", "weft", "serve", str(asked.run), "--port", str(asked.port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while asyncio.run(ask(asked.port, "/readyz"))[0] != 200:
            assert server.poll() is None, "the server has ended"
            time.sleep(0.1)
        body = {"model": asked.run.name, "prompt": "Once", "max_tokens": asked.tokens, "temperature": 1.0}
        found = asyncio.run(load(asked.port, server.pid, body, asked.clients, asked.seconds))
        found["leaving"] = asyncio.run(leaving(asked.port, body, asked.leaves))
        print(json.dumps(found))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(40)


if __name__ == "__main__":
    main()
