"""An export has its name once it is proved: whatever stops it before leaves nothing."""

import signal
from pathlib import Path

import pytest
from helpers.trials import TRIALS, train

from weft.errors import Interrupted, WeftError
from weft.runs import Run, exporting


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    trial = TRIALS["language-model"]
    assert trial.hf is not None
    return train("language-model", trial.data, out=tmp_path_factory.mktemp("export") / "run", **trial.hf, steps=1)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT], ids=lambda sent: sent.name)
def test_an_export_that_is_stopped_during_its_proof_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    def stopped(*_: object) -> None:
        assert not (tmp_path / "out").exists()
        assert len(list(tmp_path.iterdir())) == 1
        signal.raise_signal(sent)

    usual = signal.signal(sent, signal.default_int_handler)  # a shell may have started the tests with it ignored
    monkeypatch.setattr(exporting, "prove", stopped)
    with pytest.raises(Interrupted, match=f"stopped by {sent.name} before the export was proved"):
        run.export(tmp_path / "out")
    signal.signal(sent, usual)
    assert list(tmp_path.iterdir()) == []


def test_an_export_is_complete_when_it_has_its_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "prove", lambda *_: 0.0)
    assert run.export(tmp_path / "out")["folder"] == str(tmp_path / "out")
    assert {"README.md", "config.json", "model.safetensors"} <= {one.name for one in (tmp_path / "out").iterdir()}
    assert len(list(tmp_path.iterdir())) == 1


def test_an_export_into_the_run_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run.folder)
    with pytest.raises(WeftError, match="lies in the run"):
        run.export(tmp_path / "link" / "out")
    assert not (run.folder / "out").exists()
