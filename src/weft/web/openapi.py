"""The description of all routes as OpenAPI 3.1, written from what the runs ask for and from their settings."""

from typing import Any, get_args

from weft.version import VERSION
from weft.web.sweeps import SweepName
from weft.web.table import RunTable, ServedRun

ERROR = {"$ref": "#/components/schemas/Error"}
BYTES = {"type": "string", "contentEncoding": "base64"}
PICTURE = {
    "oneOf": [
        {"type": "object", "required": ["base64"], "properties": {"base64": BYTES, "ending": {"type": "string"}}},
        {"type": "object", "required": ["pixels"], "properties": {"pixels": {"type": "array"}}},
    ]
}
INPUTS: dict[str, dict[str, Any]] = {
    "text": {"type": ["string", "object"]},
    "picture": PICTURE,
    "picture and question": {
        "type": "object",
        "required": ["picture"],
        "properties": {"picture": PICTURE, "question": {"type": "string"}},
    },
    "place": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
    "file": {
        "oneOf": [
            {"type": "object", "properties": {"base64": BYTES, "ending": {"type": "string"}}},
            {"type": "array"},
        ]
    },
}
CHANGES = {"type": "array", "items": {"type": "object"}, "description": "of the model, for this request"}
LISTS = {"/v1/models": "The runs, in OpenAI's shape", "/languages": "Languages, in LibreTranslate's shape"}
WRITING = {
    "model": "string", "max_tokens": "integer", "temperature": "number", "top_p": "number", "n": "integer",
    "stop": ["string", "array"], "seed": "integer", "stream": "boolean", "weft": "object",
}  # fmt: skip
SHAPES: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "/v1/completions": (
        "Continue prompts",
        ("prompt",),
        {"prompt": ["string", "array"], "echo": "boolean", "logprobs": "integer", **WRITING},
    ),
    "/v1/chat/completions": (
        "Answer a talk",
        ("messages",),
        {"messages": "array", "logprobs": "boolean", "top_logprobs": "integer", "response_format": "object", **WRITING},
    ),
    "/v1/embeddings": (
        "Vectors of texts",
        ("input",),
        {"model": "string", "input": ["string", "array"], "encoding_format": "string", "dimensions": "integer"},
    ),
    "/translate": (
        "Translate texts",
        ("q",),
        {
            "q": ["string", "array"],
            "source": "string",
            "target": "string",
            "alternatives": "integer",
            "alignment": "boolean",
        },
    ),
}


def description(table: RunTable) -> dict[str, Any]:
    """All routes, with a request body for each run."""
    paths: dict[str, Any] = {
        "/healthz": {"get": _operation("Whether the server lives")},
        "/readyz": {"get": _operation("Whether it takes requests")},
        "/metrics": {"get": _operation("Counts for Prometheus")},
        "/openapi.json": {"get": _operation("This description")},
        "/api/training": {"get": _operation("The runs in training; /api/training/NAME tells how one is doing")},
        "/api/runs": {"get": _operation("The runs, what they ask for and give, and their settings")},
    }
    paths |= {path: {"get": _operation(summary)} for path, summary in LISTS.items()}
    for path, (summary, needed, fields) in SHAPES.items():
        body = {
            "type": "object",
            "required": list(needed),
            "properties": {name: {"type": kind} for name, kind in fields.items()},
        }
        paths[path] = {"post": {**_operation(summary), "requestBody": json_body(body)}}
    for name, served in table.items():
        paths[f"/api/predict/{name}"] = {"post": _predict(served)}
        paths[f"/api/look/{name}"] = {"post": _look(served)}
        paths[f"/api/sweep/{name}"] = {"post": _sweep(served)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "weft serve", "version": VERSION},
        "paths": paths,
        "components": {
            "schemas": {"Error": _error()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _predict(served: ServedRun) -> dict[str, Any]:
    task = served.run.task
    one = INPUTS[task.asks[0].kind]
    settings = {
        setting["name"]: {key: value for key, value in setting.items() if key not in ("name", "about")}
        | {"description": setting["about"]}
        for setting in served.settings()
    }
    fields = {
        "input": one,
        "inputs": {"type": "array", "items": one},
        "settings": {"type": "object", "properties": settings, "additionalProperties": False},
        "changes": CHANGES,
        "files": {"type": "boolean", "description": "with the files that an answer offers, in base64"},
    }
    if served.gives.streams:
        fields["stream"] = {"type": "boolean", "description": "as events, piece by piece"}
    body = {"type": "object", "properties": fields, "additionalProperties": False}
    return {**_operation(task.ability(served.run.loaded)), "requestBody": json_body(body)}


def _look(served: ServedRun) -> dict[str, Any]:
    body = {
        "type": "object",
        "properties": {"input": INPUTS[served.run.task.asks[0].kind], "settings": {"type": "object"}},
    }
    return {**_operation("What the model does inside with an input"), "requestBody": json_body(body)}


def _sweep(served: ServedRun) -> dict[str, Any]:
    one = INPUTS[served.run.task.asks[0].kind]
    fields: dict[str, Any] = {
        "input": one,
        "sweep": {"enum": list(get_args(SweepName)), "default": "heads"},
        "branch": {"enum": ["mix", "read", "transform"]},
        "by": {"enum": ["zero", "mean"]},
        "part": {"enum": ["stream", "mix", "read", "transform"]},
        "head": {"type": "integer"},
        "other": {**one, "description": "the input of which patching takes, and that changes may name"},
        "rows": {"type": "array", "items": CHANGES, "description": "for the sweep changes"},
        "change": {"type": "object", "description": "for the sweep range: Scaled or Added"},
        "values": {"type": "array", "items": {"type": "number"}},
        "settings": {"type": "object"},
        "changes": CHANGES,
    }
    body = {"type": "object", "required": ["input"], "properties": fields, "additionalProperties": False}
    return {**_operation("How the answer changes with each of many changes"), "requestBody": json_body(body)}


def json_body(schema: dict[str, Any]) -> dict[str, Any]:
    """A request body of JSON."""
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _operation(summary: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": {"description": "done"}, "default": {
        "description": "refused", "content": {"application/json": {"schema": ERROR}}}}}  # fmt: skip


def _error() -> dict[str, Any]:
    inside = {name: {"type": ["string", "null"]} for name in ("message", "type", "param", "code")}
    return {"type": "object", "properties": {"error": {"type": "object", "properties": inside}}}
