"""Clients that ask for translations: `weft serve` against CTranslate2 behind a server of the same Starlette, by turns.

    weft train pairs.tsv --task translate --model transformer --preset base --steps 2 --out tr
    weft export tr --to hf --out tr-hf
    python bench/serving_translation.py tr tr-hf sentences.txt [--clients 16] [--kind float32]

Both have the same weights (a Marian of the Hugging Face library's layout), the same tokenizer, beam 5 and 24 tokens an
answer, before which neither may end one: `same_answers` counts the texts that are equal. Each client asks for its
sentences one after another. CTranslate2 is asked in two ways, of which the faster one counts: one translator with all
threads, and one with a thread for each of several requests. Loopback only. Prints JSON.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from serving_race import ready

NEW, BEAM = 24, 5


def ctranslate2_server(folder: Path, kind: str, port: int, apart: bool) -> None:
    """CTranslate2 behind Starlette and uvicorn: each request is translated in a thread."""
    import ctranslate2
    import uvicorn
    from ctranslate2.converters.transformers import MarianMTLoader
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route
    from tokenizers import Tokenizer
    from transformers import MarianMTModel

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = MarianMTModel.from_pretrained(folder).eval()
    config = model.generation_config
    words = [tokenizer.id_to_token(i) or f"<{i}>" for i in range(model.config.vocab_size)]
    model.resize_token_embeddings(
        len(words) + 1
    )  # the converter drops the last row: Marian's own models have a pad there
    spec = MarianMTLoader().get_model_spec(model)
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    end = words[config.eos_token_id]
    spec.config.decoder_start_token = spec.config.eos_token = end
    spec.config.unk_token = words[0]
    spec.validate()
    spec.optimize(quantization=kind)
    made = folder / f"ctranslate2-{kind}-{apart}"
    made.mkdir(exist_ok=True)
    spec.save(str(made))
    cores = os.cpu_count() or 1
    inter, intra = (cores, 1) if apart else (1, cores)
    translator = ctranslate2.Translator(str(made), compute_type=kind, inter_threads=inter, intra_threads=intra)

    async def translate(request: Request) -> JSONResponse:
        line = [words[i] for i in tokenizer.encode((await request.json())["input"]).ids] + [end]
        found = await asyncio.to_thread(
            translator.translate_batch, [line], beam_size=BEAM, max_decoding_length=NEW, min_decoding_length=NEW
        )
        ids = [tokenizer.token_to_id(word) for word in found[0].hypotheses[0]]
        return JSONResponse({"text": tokenizer.decode([i for i in ids if i is not None])})

    app = Starlette(routes=[Route("/translate", translate, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", http="h11")


async def ask(port: int, path: str, body: dict[str, Any]) -> str:
    """One request; the text of its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(said)}\r\nConnection: close\r\n\r\n".encode() + said)
    answer = await reader.read()
    writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head.split(b"\r\n", 1)[0], answer[:300]
    found = json.loads(content)
    text: str = found["text"] if "text" in found else found["predictions"][0]["text"]
    return text


async def rate(port: int, path: str, more: dict[str, Any], lines: list[str], clients: int) -> tuple[float, list[str]]:
    """Sentences a second of all clients together, and the answers."""
    waiting, texts = iter(enumerate(lines)), [""] * len(lines)

    async def client() -> None:
        for number, line in waiting:
            texts[number] = await ask(port, path, {"input": line, **more})

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return len(lines) / (time.perf_counter() - start), texts


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("run", type=Path)
    words.add_argument("hf", type=Path, help="the run's folder of the Hugging Face library")
    words.add_argument("sentences", type=Path, help="a sentence in each line; of a table the first column")
    words.add_argument("--kind", default="float32", choices=("float32", "int8"))
    for name, usual in (("clients", 16), ("rounds", 3), ("requests", 64), ("port", 8110)):
        words.add_argument(f"--{name}", type=int, default=usual)
    words.add_argument("--ctranslate2", choices=("together", "apart"), help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.ctranslate2:
        ctranslate2_server(asked.hf, asked.kind, asked.port, asked.ctranslate2 == "apart")
        return
    some = asked.sentences.read_text(encoding="utf-8").splitlines()[: asked.requests]
    lines = [line.split("\t")[0] for line in some]
    this = [sys.executable, __file__, str(asked.run), str(asked.hf), str(asked.sentences), "--kind", asked.kind]
    ways = {"weft": [sys.executable, "-m", "weft", "serve", str(asked.run), "--port", str(asked.port)]}
    for n, way in enumerate(("together", "apart"), 1):
        ways[f"CTranslate2 {way}"] = [*this, "--ctranslate2", way, "--port", str(asked.port + n)]
    precision = {"float32": "fp32", "int8": "int8"}[asked.kind]
    end = json.loads((asked.hf / "generation_config.json").read_text())["eos_token_id"]
    settings = {"settings": {"max_tokens": NEW, "beam": BEAM, "precision": precision, "never": [end]}}
    rates: dict[str, dict[str, list[float]]] = {name: {} for name in ways}
    answers: dict[str, list[str]] = {}
    running = [subprocess.Popen(one, start_new_session=True, stderr=subprocess.DEVNULL) for one in ways.values()]
    try:
        given = {}
        for n, name in enumerate(ways):
            ready(asked.port + n)
            path, more = (f"/api/predict/{asked.run.name}", settings) if name == "weft" else ("/translate", {})
            given[name] = (asked.port + n, path, more)
            asyncio.run(rate(*given[name], lines[:4], 2))
        for _ in range(asked.rounds):
            for name in ways:
                for clients in (1, asked.clients):
                    found, texts = asyncio.run(rate(*given[name], lines if clients > 1 else lines[:8], clients))
                    answers[name] = texts
                    rates[name].setdefault(f"clients {clients}", []).append(found)
    finally:
        for one in running:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(one.pid, signal.SIGTERM)
        for one in running:
            one.wait(30)
    middle = {name: {what: statistics.median(some) for what, some in own.items()} for name, own in rates.items()}
    best = {what: max(own[what] for name, own in middle.items() if name != "weft") for what in middle["weft"]}
    print(json.dumps({
        "sentences_per_second": {n: {what: round(x, 3) for what, x in own.items()} for n, own in middle.items()},
        "same_answers": {name: sum(map(str.__eq__, texts, answers["weft"])) for name, texts in answers.items()},
        "characters": {name: sum(map(len, texts)) for name, texts in answers.items()},
        "weft_over_the_faster": {what: round(middle["weft"][what] / best[what], 2) for what in best},
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
