"""Models of fields, measured: against baselines, tokens compared, a variable from another, a store beyond memory.

    python bench/fields.py skill DATA.nc --minutes 10 [--set hide=future]   rmse over that of every baseline, last year
    python bench/fields.py decades DATA.nc                     plain methods over damped persistence, last three decades
    python bench/fields.py tokens DATA.nc --minutes 2          swift (all times in a token) beside atmorep (one each)
    python bench/fields.py recover --run RUN                   v hidden, recovered from z, on weft's atmosphere
    python bench/fields.py between --run RUN                   states between two times, on weft's atmosphere
    python bench/fields.py store --gigabytes 3 --minutes 2     memory while a large zarr store is trained on

`skill` holds out the last year for the measures, and the year before it to choose the weights: both are later than what
is trained on.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.dataset import GriddedFields
from weft.domains.fields.measures.baselines import forecast_baselines, launches, scale_of
from weft.domains.fields.predictor import FieldPredictor
from weft.domains.fields.reading.climatology import best_half_life, learn
from weft.domains.fields.reading.grid import FieldSpan
from weft.domains.fields.sample import SampleFields
from weft.domains.fields.settings import ForecastTraining
from weft.training.progress import Progress

DECADE = 120  # months


def skill(data: str, minutes: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Train on all but the last year, of which the last is held out to choose weights; measure on the last year."""
    import xarray as xr

    whole = xr.open_dataset(data, decode_times=False)
    time_axis = next(name for name in whole.dims if str(name).lower() in ("time", "t"))
    with tempfile.TemporaryDirectory() as folder:
        early = Path(folder) / "early.nc"
        whole.isel({time_axis: slice(0, -12)}).to_netcdf(early, engine="h5netcdf")
        run = weft.train(str(early), minutes=minutes, out=Path(folder) / "run", **settings)
        loaded = run._loaded
        fields = run.task.held_out(loaded, [data]).fields
        measured = run.task.measure(loaded, FieldSpan(fields, len(fields) - 12, len(fields)), Progress(quiet=True))
    return {"metrics": dict(measured.metrics), "ratios": measured.more["ratio_of_rmse"]}


def decades(data: str) -> dict[str, Any]:
    """The rmse of plain methods over that of damped persistence at 1, 3 and 6 steps, with each of the last three
    decades of months held out and all that is before it learned from; nothing is trained.
    """
    fields = GriddedFields().read([data], None, ForecastTraining()).train.fields
    found: dict[str, Any] = {}
    for stop in range(len(fields) - 3 * DECADE, len(fields), DECADE):
        train, test = FieldSpan(fields, 0, stop), FieldSpan(fields, stop, stop + DECADE)
        half_life, normals = best_half_life(train), learn(train)
        known = {"all years": normals, "recent years": learn(train, half_life=half_life)}
        for which, climate in known.items():
            scores = forecast_baselines(test, normals, launches(test, 6), recent=climate, train=train)
            scale = scale_of(fields.layers, fields.grid, normals)
            for name in scores.keys() & {"climatology", "recent", "linear"}:
                ratios = [scores[name].of(n, scale)["rmse"] / scores["damped"].of(n, scale)["rmse"] for n in (1, 3, 6)]
                found.setdefault(f"after {stop} fields, half-life {half_life}", {})[f"{name}, {which}"] = ratios
    return found


def tokens(data: str, minutes: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Both kinds of token for the same time: windows a second and held-out loss."""
    found = {}
    for model in ("swift", "atmorep"):
        with tempfile.TemporaryDirectory() as folder:
            sizes = {"dim": 96, "depth": 3, "heads": 3, **settings}
            run = weft.train(data, model=model, minutes=minutes, out=Path(folder) / "run", **sizes)
            lines = [line for line in run.metrics if "loss" in line]
            batch = run.config["training"]["batch"]
            found[model] = {"windows_a_second": batch * len(lines) / run.report["seconds"], **run.report["metrics"]}
    return found


def recover(folder: str) -> dict[str, Any]:
    """How well hidden v is recovered where z and u are known: correlation with the truth, the geostrophic wind."""
    predictor, sample = predictor_of(weft.load(folder)), SampleFields()
    times = predictor.codec.config.times
    truth, found = [], []
    for first in range(1200, 1200 + 20 * times, times):
        season, hour = (part[first : first + times] for part in (sample.times.season, sample.times.hour))
        values = predictor.codec.anomalies(sample.read(first, first + times), season, hour)
        anomalies = values.swapaxes(0, 1).astype(np.float32)
        shown = np.isfinite(anomalies)
        shown[2] = False
        mean, _ = predictor.predict(anomalies[None], shown[None], season[None], hour[None])
        truth.append(sample.truth(sample.times.days[first : first + times])[:, 2])
        found.append(predictor.codec.values(mean[0].swapaxes(0, 1), season, hour)[:, 2])
    a, b = np.concatenate(truth).ravel(), np.concatenate(found).ravel()
    rmse = float(np.sqrt(((a - b) ** 2).mean()))
    return {"correlation": float(np.corrcoef(a, b)[0, 1]), "rmse": rmse, "spread": float(a.std())}


def between_times(before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    """The field at `share` (0 to 1) of the time from one to another, linearly; where one is missing, the other."""
    mixed = (1 - share) * before + share * after
    return np.where(np.isnan(before), after, np.where(np.isnan(after), before, mixed)).astype(before.dtype)


def between(folder: str) -> dict[str, Any]:
    """States between two times beside linear interpolation, against the truth."""
    predictor, sample = predictor_of(weft.load(folder)), SampleFields()
    stretch = FieldSpan(sample, 1300, 1360)
    scores: dict[str, list[np.ndarray]] = {"model": [], "linear": []}
    scale = np.array(predictor.codec.config.scale)[:, None, None]
    for at, field, _ in predictor.between(stretch):
        low = int(at)
        days = np.array([(sample.times.days[low] + sample.times.days[low + 1]) / 2])
        truth, both = sample.truth(days)[0], sample.read(low, low + 2)
        linear = between_times(both[0], both[1], 0.5)
        known = np.isfinite(linear)
        scores["model"].append(((field - truth) / scale)[known] ** 2)
        scores["linear"].append(((linear - truth) / scale)[known] ** 2)
    return {name: float(np.sqrt(np.concatenate(parts).mean())) for name, parts in scores.items()}


def store(gigabytes: float, minutes: float) -> dict[str, Any]:
    """Memory and reading while a store of this size is trained on."""
    import xarray as xr

    rows, columns, steps = 90, 180, 64
    count = int(gigabytes * 2**30 / 4 / 2 / rows / columns)
    rng, before = np.random.default_rng(0), peak()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.zarr"
        lat, lon = np.linspace(89, -89, rows), np.arange(columns) * 2.0 - 180
        for first in range(0, count, steps):
            at = np.arange(first, min(first + steps, count))
            wave = np.cos(np.radians(lat))[None, :, None] * np.cos(
                np.radians(3 * lon)[None, None] - 0.3 * at[:, None, None]
            )
            values = {n: 10 * wave + rng.normal(0, 1, wave.shape) for n in ("a", "b")}
            one = xr.Dataset(
                {n: (("time", "lat", "lon"), v.astype("f4"), {"units": "m"}) for n, v in values.items()},
                {"time": ("time", at * 6.0, {"units": "hours since 2000-01-01"}), "lat": lat, "lon": lon},
            ).chunk(time=steps)
            extra: dict[str, Any] = {"mode": "w"} if first == 0 else {"append_dim": "time"}
            one.to_zarr(path, zarr_format=2, **extra)
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        made, began = peak(), time.monotonic()
        run = weft.train(str(path), minutes=minutes, out=Path(folder) / "run", dim=96, depth=3, heads=3)
        seconds = time.monotonic() - began
    uncompressed = count * 2 * rows * columns * 4
    return {
        "bytes": uncompressed, "on_disk": size, "peak_before": before, "peak_while_writing": made, "peak": peak(),
        "seconds": seconds, "steps": run.report["steps"], "parameters": run.report["parameters"],
    }  # fmt: skip


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def predictor_of(run: weft.Run) -> FieldPredictor:
    """A run's model and codec."""
    return FieldPredictor(run.model, run._loaded.codec("field", FieldCodec))  # type: ignore[arg-type]


def main() -> None:
    """Measure what is asked for, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("skill", "decades", "tokens", "recover", "between", "store"))
    parser.add_argument("data", nargs="?")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--gigabytes", type=float, default=3)
    parser.add_argument("--run")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    settings: dict[str, Any] = {name: _value(value) for name, _, value in (one.partition("=") for one in given.set)}
    found = {
        "skill": lambda: skill(given.data, given.minutes, settings),
        "decades": lambda: decades(given.data),
        "tokens": lambda: tokens(given.data, given.minutes, settings),
        "recover": lambda: recover(given.run),
        "between": lambda: between(given.run),
        "store": lambda: store(given.gigabytes, given.minutes),
    }[given.what]()
    print(json.dumps(found, indent=2, default=float))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


if __name__ == "__main__":
    main()
