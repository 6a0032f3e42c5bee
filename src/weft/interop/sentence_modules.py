"""What sentence-transformers keeps beside a model: how the vectors of its tokens become one vector of a text.

modules.json                       Transformer, Pooling and Normalize, in this order
1_Pooling/config.json              mean, the first token or the greatest values; whether a prompt's tokens count
sentence_bert_config.json          max_seq_length, do_lower_case
tokenizer_config.json              model_max_length, where max_seq_length is not said
config_sentence_transformers.json  prompts, and the one that stands before every text
"""

from collections.abc import Callable, Mapping
from typing import Any

from weft.errors import ConfigError

ReadJson = Callable[[str], Any]  # the name of a file in the folder -> what it holds, None where it is not there
POOLING = {"pooling_mode_cls_token": "class", "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max"}
BY_NAME = {"cls": "class", "mean": "mean", "max": "max"}  # what newer files say in one key
PROMPTS = "config_sentence_transformers.json"
UNNAMED = ("query", "document")  # prompts that every model has, empty where a file does not say them
SHORTEST = 3  # tokens of a text between two marks
KNOWN = "the mean, the first token (cls) or the greatest values (max)"


def read_modules(read: ReadJson, where: str) -> dict[str, Any]:
    """The settings of vectors, by their names in `weft embed`; none where a folder says nothing of them."""
    modules = read("modules.json")
    if modules is None:
        return {}
    if not isinstance(modules, list) or not all(isinstance(one, dict) for one in modules):
        raise ConfigError("expected a list of modules", where=f"{where}/modules.json")
    kinds = [str(one.get("type", "")).rpartition(".")[2] for one in modules]
    unknown = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if unknown or kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        problem = (
            f"vectors are made by {', '.join(kinds) or 'nothing'}; weft follows Transformer, Pooling and Normalize"
        )
        raise ConfigError(problem, where=f"{where}/modules.json", fix="remove modules.json to use the model without it")
    path = str(modules[1].get("path", "1_Pooling"))
    pooling = read(f"{path}/config.json") if "/" not in path and not path.startswith(".") else None
    if not isinstance(pooling, dict):
        raise ConfigError("no config.json of the pooling", where=f"{where}/{path}", fix="fetch it with the other files")
    found: dict[str, Any] = {"summary": _pooling(pooling, f"{where}/{path}"), "normalise": len(kinds) == 3}
    found |= _limits(read("sentence_bert_config.json") or {}, where)
    usual = (read("tokenizer_config.json") or {}).get("model_max_length")
    if "longest" not in found and type(usual) is int and SHORTEST <= usual < 2**31:  # beyond it, there is no limit
        found["longest"] = usual
    prompt = _prompt(read(PROMPTS) or {}, f"{where}/{PROMPTS}")
    found |= {"prompt": prompt} if prompt else {}
    return {**found, **({"prompt_counts": False} if prompt and pooling.get("include_prompt") is False else {})}


def write_modules(settings: Mapping[str, Any], width: int) -> dict[str, Any]:
    """The files, by name, that say the same; none where there are no settings of vectors."""
    if not settings:
        return {}
    modes = {key: summary == settings.get("summary", "mean") for key, summary in POOLING.items()}
    kinds = ["Transformer", "Pooling", *(["Normalize"] if settings.get("normalise", True) else [])]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    limits = {"max_seq_length": settings.get("longest"), "do_lower_case": settings.get("lower", False)}
    prompt = settings.get("prompt")
    if prompt:
        modes["include_prompt"] = settings.get("prompt_counts", True)
    return {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": width, **modes},
        "sentence_bert_config.json": limits,
        **({PROMPTS: {"prompts": {"usual": prompt}, "default_prompt_name": "usual"}} if prompt else {}),
    }


def _pooling(data: Mapping[str, Any], where: str) -> str:
    chosen = [key for key, value in data.items() if key.startswith("pooling_mode_") and value is True]
    name = data.get("pooling_mode")
    summary = BY_NAME.get(str(name)) if name is not None else POOLING.get(chosen[0]) if len(chosen) == 1 else None
    if summary is None:
        said = name if name is not None else " and ".join(chosen) or "nothing"
        raise ConfigError(f"the pooling is {said}; weft knows {KNOWN}", where=where)
    return summary


def _limits(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise ConfigError("expected an object", where=f"{where}/sentence_bert_config.json")
    longest, lower = data.get("max_seq_length"), data.get("do_lower_case", False)
    if (longest is not None and (type(longest) is not int or longest < SHORTEST)) or type(lower) is not bool:
        problem = f"expected a number of tokens and true or false, found {longest!r:.40} and {lower!r:.40}"
        raise ConfigError(problem, where=f"{where}/sentence_bert_config.json: max_seq_length, do_lower_case")
    for key, plain in (("processing_kwargs", {}), ("transformer_task", "feature-extraction")):
        if data.get(key) not in (None, plain):
            raise ConfigError(
                f"{key} is {data[key]!r:.80}; weft follows it only with {plain!r}",
                where=f"{where}/sentence_bert_config.json",
                fix="remove modules.json to use the model without it",
            )
    return {**({"longest": longest} if longest is not None else {}), **({"lower": True} if lower else {})}


def _prompt(data: Mapping[str, Any], where: str) -> str:
    """What stands before every text where the user says nothing else; empty where nothing does."""
    known = data.get("prompts") if isinstance(data, Mapping) else 0
    name = data.get("default_prompt_name") if isinstance(data, Mapping) else None
    if not isinstance(known, dict | None) or not all(isinstance(one, str | None) for one in (known or {}).values()):
        raise ConfigError("prompts: expected texts by their names", where=where)
    prompts = {**dict.fromkeys(UNNAMED, ""), **(known or {})}
    if name is not None and name not in prompts:
        problem = f"default_prompt_name is {name!r:.80}, and no prompt has that name"
        raise ConfigError(problem, where=where, fix=f"known: {', '.join(prompts)}")
    return (prompts[name] or "") if name is not None else ""
