"""A short run whose model is thrown away: only its score on held-out data is kept. Writes nothing."""

import torch

from weft.core.threads import suited_threads
from weft.models.outline import outline
from weft.training import loop
from weft.training.score import HeldOutScore
from weft.training.trial import step_seconds, trial_job
from weft.training.work import SINGLE_THREAD_WEIGHTS, Work, build


def short_run(work: Work, device: torch.device) -> HeldOutScore:
    """Train within the budget of the work, as a run would; the score of the weights that it would keep.

    No random state is changed.
    """
    with torch.random.fork_rng(devices=[]), suited_threads(outline(work.model), small=SINGLE_THREAD_WEIGHTS):
        horizon = work.budget.horizon(work.source, work.training, lambda: step_seconds(work, device))
        model = build(work.model, work.training.seed, work.start, work.frozen)
        fit = loop.Fit(trial_job(work, model, device), loop.State(horizon=horizon))
        fit.run()
        assert fit.score is not None
        return fit.score
