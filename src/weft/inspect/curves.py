"""The loss curve of a run as a picture."""

import io
from typing import Any

import numpy as np


def loss_curve(metrics: list[dict[str, Any]], *, unit: str = "", title: str = "") -> bytes:
    """PNG of training loss (thin, and smoothed) and held-out loss (dots) by step."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    lines = [line for line in metrics if isinstance(line.get("loss"), float)]
    steps = np.array([line["step"] for line in lines])
    losses = np.array([line["loss"] for line in lines])
    figure, axis = plt.subplots(figsize=(7, 4), dpi=120, layout="constrained")
    if len(losses):
        axis.plot(steps, losses, color="#9db7d5", linewidth=0.6)
        span = max(1, len(losses) // 50)
        smooth = np.convolve(losses, np.ones(span) / span, mode="valid")
        axis.plot(steps[span - 1 :], smooth, color="#1f5fa8", linewidth=1.6, label="training")
        low, high = losses.min(), np.quantile(losses, 0.98)
        axis.set_ylim(low - 0.08 * (high - low + 1e-9), high + 0.1 * (high - low + 1e-9))
    held = [(line["step"], line["held_out"]) for line in metrics if isinstance(line.get("held_out"), float)]
    if held:
        axis.plot(*zip(*held, strict=True), "o-", color="#d1495b", markersize=4, linewidth=1, label="held out")
    axis.set_xlabel("step")
    axis.set_ylabel(f"loss, nats per {unit}" if unit else "loss")
    axis.set_title(title, fontsize=10)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    if len(losses) or held:
        axis.legend(frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    return buffer.getvalue()
