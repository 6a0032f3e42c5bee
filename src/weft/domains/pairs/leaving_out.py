"""What a translation by a model without attention depends on: each word of the source is left out once (occlusion).

A word that was written becomes less probable where its source is missing (Zeiler and Fergus, 2014, for pictures). Works
for every encoder–decoder; it costs one more reading for each word of the source.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, final

import numpy as np
import torch

from weft.batches.samples import PaddedIds
from weft.domains.pairs.views import TranslationView
from weft.inspect import matrix
from weft.inspect.alignment import Alignment, Word, most_read, piece_labels, piece_spans, words_of
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.steps import Steps
from weft.inspect.streams import Read, streams_of
from weft.inspect.views import NoAttention
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq

TITLE = "how much less probable each word is without each source word"
WHY = "This model has no attention: each source word was left out once, and the same translation scored (occlusion)."
SCALE = "probability with all words minus probability without the word of the column; 0 where it rose"
AT_ONCE = 32  # sources that are read together


@final
class LeftOutView(TranslationView):
    """One sentence and its translation: how much the probability of each word falls without each word of the source."""

    @property
    def about(self) -> str:
        return f"how much less probable the words of {self.target[:40]!r} are without words of {self.source[:40]!r}"

    @cached_property
    def pieces(self) -> Alignment:
        """The falls of probability, as one head of one layer: by words, or by pieces where these are wanted."""
        source = self._grouped(self.source_ids, self.source)
        target = self._grouped(self.target_ids, self.target)
        kept = [np.arange(len(self.source_ids))]
        kept += [np.setdiff1d(kept[0], word.pieces) for word in source]
        logs = self._log_probabilities([np.array(self.source_ids)[some] for some in kept])
        chances = np.exp(np.stack([logs[:, word.pieces].sum(1) for word in target], 1))
        falls = np.maximum(chances[0] - chances[1:], 0).T
        labels = [tuple(word.label for word in words) for words in (source, target)]
        return Alignment(labels[0], labels[1], falls[None, None])

    @property
    def alignment(self) -> Alignment:
        """The same."""
        return self.pieces

    def _grouped(self, ids: Sequence[int], text: str) -> list[Word]:
        """The words of a side with their pieces; or the pieces alone."""
        labels, spans = piece_labels(self.tokenizer, ids), tuple(piece_spans(self.tokenizer, ids))
        if self.how.pieces:
            return [Word(label, span, [i]) for i, (label, span) in enumerate(zip(labels, spans, strict=True))]
        return words_of(text, labels, spans)

    @torch.inference_mode()
    def _log_probabilities(self, sources: Sequence[np.ndarray]) -> np.ndarray:
        """(sources, target ids) of log p(target id | source, the target ids before it)."""
        model: Seq2Seq = self.model.eval()
        device, found = next(model.parameters()).device, list[np.ndarray]()
        wanted = torch.tensor([self.target_ids], device=device)
        read = torch.tensor([[self.start, *self.target_ids[:-1]]], device=device)
        for i in range(0, len(sources), AT_ONCE):
            some = PaddedIds.of(sources[i : i + AT_ONCE]).to(device)
            x = model.target.encode(Text(read.expand(len(some), -1)), memory=model.memorise(some.raw())).x
            logs = model.target.head.values(x).float().log_softmax(-1)
            found.append(logs.gather(2, wanted.expand(len(some), -1)[..., None])[..., 0].cpu().numpy())
        return np.concatenate(found)

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The matrix as a picture."""
        return self._drawn(format, [WHY, *([] if self.answer is None else [str(self.answer)])])

    def _drawn(self, format: Literal["png", "svg", "pdf"], notes: Sequence[str]) -> bytes:
        return matrix.draw(self.alignment, format=format, title=TITLE, notes=notes, scale=SCALE)

    def document(self) -> LookDocument:
        """Both texts, and how much each word of the source counts for each word that was written."""
        shown = self.pieces
        groups = (TokenGroup("source", shown.source), TokenGroup("target", shown.target))
        streams, left = streams_of((Read(TITLE, "target", "source", shown.weights, "occlusion"),), groups)
        return LookDocument(
            self.source, "text", self.about, self.text(), groups=groups, streams=streams, answer=self.shown_answer,
            start=(("token", "target.1"),), notes=(WHY, *left),
        )  # fmt: skip

    def text(self) -> str:
        """For each word of the translation, the source words without which it is least probable."""
        said = self.target if self.answer is None else str(self.answer)
        return "\n".join([self.source, said, "", f"{WHY} {TITLE}:", *most_read(self.alignment)])

    def steps(self, token: str | int = 1, *, side: Literal["across", "source", "target"] = "across") -> Steps:
        """Refused: there is no attention to step through."""
        raise NoAttention("this model has no attention to go through step by step", where="--set token")
