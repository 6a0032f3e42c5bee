"""k nearest neighbours of scikit-learn on the places that fit-field holds out: what a field should beat.

    python bench/places.py grid.npz
    python bench/places.py cities.tsv.gz --set lat_column=3 --set lon_column=4 --set value_column=2

Places on the globe are compared as unit vectors. The best of several k is shown too, chosen on the held-out places
themselves.
"""

import argparse

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from weft.domains.places.dataset import PlaceData, PlacesWithValues
from weft.domains.places.fitted import place_codec
from weft.domains.places.settings import PlaceTraining
from weft.tasks.settings.limits import with_settings

NEIGHBOURS = (1, 2, 3, 5, 8, 12)


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


def main() -> None:
    """Print the scores for a file."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("data")
    words.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = words.parse_args()
    settings = with_settings(PlaceTraining(), dict(pair.split("=", 1) for pair in given.set))
    data = PlacesWithValues().read([given.data], None, settings)
    found = scores(data)
    for name, value in found.items():
        print(f"{name:<16} {value:.4f}")
    best = (max if data.kind == "classes" else min)(found, key=lambda name: found[name])
    print(f"best: {best}, {found[best]:.4f} on {len(data.held_out):,} held-out places")


if __name__ == "__main__":
    main()
