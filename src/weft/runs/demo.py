"""The demo: English to French on weft's own phrasebook, from nothing to a picture of what the model looked at."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.domains.pairs.sample.phrasebook import Phrase, phrasebook
from weft.domains.pairs.views import TranslationView
from weft.inspect.alignment import alignment_error_rate, links
from weft.modalities.words import words
from weft.runs.run import Run
from weft.runs.start import train
from weft.storage.store import write_file

SHOWN = "The agreement on the European Economic Area was signed in August 1992."
SENTENCES = (SHOWN, "My house is tiny and cozy.")
ALIGNED = 300  # held-out sentences whose alignment is compared with the grammar's


def demo(
    *, minutes: float = 1.0, out: str | Path | None = None, say: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Train, measure on sentences never seen, translate, and draw the alignment of one of them."""
    run = train((), task="translate", minutes=minutes, out=out)
    say("comparing its attention with the true alignment of words ...")
    error = phrasebook_alignment_error(run, phrasebook("fr").held_out[:ALIGNED])
    picture = run.folder / "alignment.png"
    write_file(picture, run.look(SHOWN).picture("png"))
    return {
        **run.report,
        "predictions": run.predict(list(SENTENCES)),
        "alignment_error_rate": round(error, 4),
        "picture": str(picture),
    }


def phrasebook_alignment_error(run: Run, phrases: tuple[Phrase, ...]) -> float:
    """How far attention, averaged over heads and layers, is from the alignment that the grammar gives."""
    found = []
    for phrase in phrases:
        view = run.look(phrase.source, target=phrase.target)
        assert isinstance(view, TranslationView)
        rows, columns = len(words(phrase.target)), len(words(phrase.source))
        found.append(links(view.alignment.mean().weights[0, 0, :rows, :columns]))
    return alignment_error_rate(found, [phrase.alignment for phrase in phrases])
