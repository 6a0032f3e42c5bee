"""distill-images: a student learns from its own average to see the whole in the part (DINO). No labels are needed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import final

import numpy as np
import torch
from torch import Tensor

from weft.batches.order import key
from weft.batches.source import Source
from weft.config import from_json
from weft.domains.pictures import given as pictures
from weft.domains.pictures import recipe as recipes
from weft.domains.pictures.cards import DISTILL_IMAGES
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.batches import SCORED
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.encoded.views import MultiCrop, picture_views
from weft.domains.pictures.exchange import picture_codec_of, picture_settings, with_pictures
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.recipe import views_cost
from weft.domains.pictures.settings import ViewsTraining
from weft.domains.pictures.studies import study_prototype
from weft.domains.pictures.views.vision import LookAtPicture
from weft.errors import WeftError
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import PictureEmbed
from weft.models.backbone import embed_of
from weft.models.distilled import Distilled
from weft.models.stream import Model, Stream
from weft.models.zoo.vision import distilled
from weft.objectives.distil import Distil
from weft.objectives.measures.tallies import Tally
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Given, Gives, Ways
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import start_weights, with_lora
from weft.tasks.measuring import counted
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputRow
from weft.tasks.task import Task
from weft.training.progress import Progress

ViewsDraft = Draft[PictureData, SeenPictures, ViewsTraining]


@final
class DistillImages(Task[PictureData, SeenPictures, ViewsTraining]):
    """Vectors in which like pictures are near each other, learned without labels."""

    card = DISTILL_IMAGES
    parts = (
        Parts(
            {"picture": End.of(PictureCodec)},
            (
                Distilled,
                Stream,
            ),
            PictureEmbed,
        ),
    )
    recipe = recipes.DISTILLING
    unit = "view"
    asks = (pictures.PICTURES,)
    embeds = (pictures.PICTURE,)
    Embed = pictures.Seeing
    Look = LookAtPicture

    Predict = pictures.Seeing

    def codecs(self, data: PictureData, training: ViewsTraining, known: Codecs) -> Codecs:
        return {"picture": pictures.picture_codec(data, training, known)}

    def encode(
        self, data: PictureData, codecs: Codecs, training: ViewsTraining, known: Model.Config | None, progress: Progress
    ) -> SeenPictures:
        return pictures.seen_pictures(data, codecs, known, progress)

    def sized(self, draft: ViewsDraft) -> tuple[Model.Config, ViewsTraining]:
        backbone = recipes.new_backbone(draft, self.recipe, None, views_cost, "dino")
        return with_model_settings(distilled(backbone), draft.request), recipes.decided(draft, backbone, views_cost)

    def continued(self, draft: ViewsDraft, origin: Loaded) -> tuple[Model.Config, ViewsTraining]:
        """The same student with its projector; a model from elsewhere becomes a student that has a new one."""
        backbone = recipes.continued_backbone(origin, draft, draft.training.drop)
        if isinstance(origin.model, Distilled):
            model = origin.model.config.replace(student=backbone)
        else:
            model = distilled(backbone.replace(head=None, outputs=None))
        return with_lora(model, draft.training), recipes.decided(draft, backbone, views_cost)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        if isinstance(origin.model, Distilled):
            return start_weights(origin, backbone=False, same_head=True)
        weights = start_weights(origin, backbone=True, same_head=False)
        return {f"{who}.{name}": tensor for who in ("student", "teacher") for name, tensor in weights.items()}

    def objective(self, encoded: SeenPictures, codecs: Codecs, training: ViewsTraining) -> Distil.Config:
        return Distil.Config()

    def source(self, encoded: SeenPictures, codecs: Codecs, model: Model.Config, training: ViewsTraining) -> Source:
        how, stride = training.augment, embed_of(model).stride
        views = picture_views(encoded, training.near, how=how, stride=stride, seed=training.seed)
        return pictures.read_ahead(views, encoded)

    def batch_in_words(self, training: ViewsTraining, source: Source) -> str:
        return recipes.batch_in_words(training)

    def ability(self, run: Loaded) -> str:
        return "Learned features of pictures without labels"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.picture_facts(run)

    def gives(self, run: Loaded) -> Gives:
        return Gives("vector", columns=("vector",))

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        return pictures.opened_pictures(words)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return pictures.with_scale(super().from_row(run, row, ways), row)

    def predict(
        self, run: Loaded, inputs: Sequence[Given], how: pictures.Seeing, listen: Listen | None
    ) -> list[Answer]:
        _student(run)
        found = pictures.picture_vectors(run, inputs, how)
        vectors = [[round(value, 6) for value in vector] for vector in found.vectors.tolist()]
        return [Answer(i, {"input": found.names[i], "vector": vector}) for i, vector in enumerate(vectors)]

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: pictures.Seeing) -> Embedded:
        return pictures.picture_vectors(run, inputs, how)

    def shown(self, prediction: Prediction) -> str:
        return f"{prediction['input']}: " + " ".join(f"{v:.4g}" for v in prediction["vector"])

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        _student(run)
        return pictures.measured_album(sources, self.read_by(run), labels=False)

    @torch.inference_mode()
    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        model, training = _student(run), from_json(run.config["training"], ViewsTraining)
        frames, stride, mark = pictures.frames_for(run, held_out), embed_of(model.config).stride, key("", 0, "augment")
        objective, device = Distil.Config().build(), next(model.parameters()).device
        rows, entropy, outputs = list[tuple[float, int]](), 0.0, 1
        with counted(progress, len(frames), "pictures") as count:
            for _, batch in MultiCrop(training.near, training.augment, stride, mark).of_all(frames):
                batch = batch.to(device)
                losses = objective.pairs(model.eval(), batch)
                rows += [(total, len(losses)) for total in losses.sum(0).tolist()]
                shares = model.taught(batch.wide[0]).mean(0)
                entropy += float(-(shares * shares.clamp(min=1e-12).log()).sum()) * len(batch)
                outputs = len(shares)
                count(len(batch))
        own = np.array(rows, float).reshape(-1, 2)
        metrics = {
            "loss": float(own[:, 0].sum() / max(1.0, own[:, 1].sum())),
            "variety": entropy / max(1, len(held_out)),
        }
        even = np.stack([own[:, 1] * math.log(outputs), own[:, 1]], 1)
        plain = Baseline("uniform", "all outputs alike", Tally("loss", even, lower=True))
        return Measured(
            len(held_out), metrics, {"batch": SCORED}, tally=Tally("loss", own, lower=True), baselines=(plain,)
        )

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> View:
        return pictures.look_at_picture(run, inputs, how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> Study:
        return study_prototype(_student(run), run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(picture_codec_of(model), Distil.Config(), picture_settings(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_pictures(with_labels(run), run)


def _student(run: Loaded) -> Distilled:
    """The student and its teacher; a model that came from elsewhere without a head has neither."""
    if not isinstance(run.model, Distilled):
        fix = "use weft embed and weft look, or teach it classes of yours: weft train photos/ --from RUN"
        raise WeftError("this model has no head that could answer or be measured", where=str(run.folder.path), fix=fix)
    return run.model
