"""How good translations are: BLEU and chrF as sacrebleu computes them, with intervals, and exact matches."""

from collections.abc import Sequence
from typing import Any

from weft.domains.pairs.reading.texts import Held

RESAMPLES = 1000  # of the test set, for the interval that holds 95 % of them


def translation_measures(
    found: Sequence[str], held: Sequence[Held], *, parted: bool = False
) -> tuple[dict[str, float], dict[str, Any]]:
    """Measures, and what is to be said of them: signatures and intervals.

    Sources may have different numbers of references; each translation is compared with all of its source's. `parted`
    says that marks may stand apart from words, as in most collections of captions: sacrebleu warns of it otherwise.
    """
    from sacrebleu.metrics import BLEU, CHRF

    most = max(len(one.references) for one in held)
    references = [[one.references[k] if k < len(one.references) else None for one in held] for k in range(most)]
    bleu, chrf = BLEU(force=parted), CHRF()
    scores = {name: _scored(metric, list(found), references) for name, metric in (("bleu", bleu), ("chrf", chrf))}
    exact = sum(text in one.references for text, one in zip(found, held, strict=True))
    intervals = {
        name: [round(float(score._mean - score._ci), 2), round(float(score._mean + score._ci), 2)]
        for name, score in scores.items()
        if score._mean >= 0
    }
    measures = {**{name: score.score for name, score in scores.items()}, "exact": exact / len(held)}
    signatures = {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}
    return measures, {"intervals": intervals, "signatures": signatures, "exact_matches": exact}


def _scored(metric: Any, found: list[str], references: list[list[str | None]]) -> Any:
    """A score with its interval; without one where a resample scores exactly 0, which sacrebleu cannot average."""
    try:
        return metric.corpus_score(found, references, n_bootstrap=RESAMPLES)
    except TypeError:
        metric.n_bootstrap = None
        return metric.corpus_score(found, references)
