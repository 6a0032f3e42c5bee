"""Seconds until `weft serve` takes requests, and those of `weft predict` of one input, by turns.

    python bench/serving_ready.py RUN [--input TEXT] [--rounds 5]

Both begin as processes of their own. Ready is a 200 of /readyz, asked for every 5 ms. Prints JSON.
"""

import argparse
import http.client
import json
import signal
import statistics
import subprocess
import sys
import time

WEFT = [sys.executable, "-m", "weft"]


def served(run: str, port: int) -> float:
    """Seconds to the first 200."""
    start = time.perf_counter()
    server = subprocess.Popen([*WEFT, "serve", run, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        while True:
            asked = http.client.HTTPConnection("127.0.0.1", port)
            try:
                asked.request("GET", "/readyz")
                if asked.getresponse().status == 200:
                    return time.perf_counter() - start
            except OSError:
                assert server.poll() is None, "the server has ended"
            finally:
                asked.close()
            time.sleep(0.005)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(40)


def predicted(run: str, given: str) -> float:
    """Seconds of a prediction of one token."""
    start = time.perf_counter()
    subprocess.run([*WEFT, "predict", run, given, "--set", "max_tokens=1"], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("run")
    words.add_argument("--input", default="Once")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--port", type=int, default=8121)
    asked = words.parse_args()
    seconds: dict[str, list[float]] = {"serve": [], "predict": []}
    for turn in range(asked.rounds + 1):  # the first does not count
        both = served(asked.run, asked.port), predicted(asked.run, asked.input)
        for name, one in zip(seconds, both, strict=True):
            seconds[name] += [one] if turn else []
    middle = {name: statistics.median(some) for name, some in seconds.items()}
    ratio = round(middle["serve"] / middle["predict"], 2)
    print(json.dumps({**{name: round(one, 2) for name, one in middle.items()}, "serve_over_predict": ratio}))


if __name__ == "__main__":
    main()
