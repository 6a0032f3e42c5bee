"""k nearest neighbours of scikit-learn on the places that fit-field holds out: what a field should beat.

    python bench/places.py grid.npz
    python bench/places.py cities.tsv.gz --set lat_column=3 --set lon_column=4 --set value_column=2
    python bench/places.py photo.png other.png --codes hash,fourier,siren,raw --minutes 1

Places on the globe are compared as unit vectors. The best of several k is shown too, chosen on the held-out places
themselves. `--codes` trains a field of each position encoding on pictures too (or `--steps`, the same for all): the
PSNR of the pixels held out, beside SciPy's cubic interpolation and the best of the neighbours on the same draw.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import griddata
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import weft
from weft.domains.places.dataset import PlaceData, PlacesWithValues
from weft.domains.places.fitted import place_codec
from weft.domains.places.settings import PlaceTraining
from weft.objectives.measures.nearest import psnr
from weft.tasks.settings.limits import with_settings

NEIGHBOURS = (1, 2, 3, 5, 8, 12)
PEAK = 255.0  # of the values of pixels


def scores(data: PlaceData) -> dict[str, float]:
    """Accuracy of classes, else the root mean squared error, for each number of neighbours and each weighting."""
    codec = place_codec(data, {})
    known, asked = codec.apart(data.train.where), codec.apart(data.held_out.where)
    found = {}
    for count in NEIGHBOURS:
        for weights in ("uniform", "distance"):
            name = f"k={count} {weights}"
            if data.kind == "classes":
                model = KNeighborsClassifier(count, weights=weights).fit(known, data.train.values)
                found[name] = float(model.score(asked, data.held_out.values))
            else:
                model = KNeighborsRegressor(count, weights=weights).fit(known, data.train.values)
                found[name] = float(np.sqrt(((model.predict(asked) - data.held_out.values) ** 2).mean()))
    return found


def cubic(data: PlaceData) -> float:
    """The PSNR of SciPy's cubic interpolation of a picture between known pixels; beyond them, the nearest one's."""
    known, asked = data.train.where, data.held_out.where
    smooth = griddata(known, data.train.values, asked, method="cubic")
    nearest = griddata(known, data.train.values, asked, method="nearest")
    return psnr(np.where(np.isnan(smooth), nearest, smooth), data.held_out.values)


def codes(picture: str, names: list[str], budget: dict[str, Any], settings: PlaceTraining) -> dict[str, Any]:
    """The PSNR of each code on the pixels of a picture that are held out, with its steps; and of plain methods."""
    data = PlacesWithValues().read([picture], None, settings)
    found: dict[str, Any] = {"cubic": cubic(data), "neighbours": -20 * np.log10(min(scores(data).values()) / PEAK)}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            run = weft.train(picture, task="fit-field", code=name, out=Path(folder) / "run", quiet=True, **budget)
            found[name] = {"psnr": run.report["metrics"]["psnr"], "steps": run.report["steps"]}
        print(json.dumps({picture: {name: found[name]}}), flush=True)
    return found


def main() -> None:
    """Print the scores for a file, or of codes for pictures."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("data", nargs="+")
    words.add_argument("--codes")
    words.add_argument("--minutes", type=float, default=1)
    words.add_argument("--steps", type=int)
    words.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = words.parse_args()
    settings = with_settings(PlaceTraining(), dict(pair.split("=", 1) for pair in given.set))
    if given.codes:
        budget = {"minutes": given.minutes} if given.steps is None else {"steps": given.steps}
        for picture in given.data:
            print(json.dumps({picture: codes(picture, given.codes.split(","), budget, settings)}, default=float))
        return
    data = PlacesWithValues().read(given.data, None, settings)
    found = scores(data)
    for name, value in found.items():
        print(f"{name:<16} {value:.4f}")
    best = (max if data.kind == "classes" else min)(found, key=lambda name: found[name])
    print(f"best: {best}, {found[best]:.4f} on {len(data.held_out):,} held-out places")


if __name__ == "__main__":
    main()
