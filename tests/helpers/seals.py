"""Runs as earlier versions wrote them, without a seal: what is changed in them is looked at and not refused unseen."""

import json
from pathlib import Path


def unsealed(run: Path) -> Path:
    """The same run without a seal."""
    path = run / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["seal"]
    path.write_text(json.dumps({**config, "format": 2}, indent=2, ensure_ascii=False), encoding="utf-8")
    return run
