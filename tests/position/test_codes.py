"""Position codes: functions of coordinates by axis name, and how they meet the content."""

import math

import pytest
import torch
from helpers.tiny import close, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError
from weft.position import Add, Concatenate, Fourier, Grid, Learned, Sinusoidal, Sum

AXES = ("row", "column", "level")


def grid(*sizes: int) -> dict[str, torch.Tensor]:
    """All places of a grid, one after the other."""
    places = torch.cartesian_prod(*(torch.arange(n) for n in sizes)).reshape(-1, len(sizes))
    return {axis: places[None, :, i] for i, axis in enumerate(AXES[: len(sizes)])}


@settings(max_examples=20)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_sinusoids_tell_all_places_of_any_number_of_axes_apart(sizes: list[int]):
    code = Sinusoidal.Config(axes=AXES[: len(sizes)]).build(dim=4 * len(sizes)).double()
    vectors = code(grid(*sizes))[0]
    apart = torch.cdist(vectors, vectors) + torch.eye(len(vectors)) * 9
    assert apart.min() > 1e-3


def test_sinusoids_are_bounded_and_of_one_length_everywhere():
    code = Sinusoidal.Config(axes=("x", "y")).build(dim=24).double()
    vectors = code({"x": torch.arange(-5000, 5000)[None], "y": torch.arange(10_000)[None] * 7})
    assert vectors.abs().max() <= 1
    assert close(vectors.square().sum(-1), torch.full((1, 10_000), 12.0, dtype=torch.float64))


def test_sinusoids_are_the_formula_of_the_paper():
    dim, base = 8, 10000.0
    code = Sinusoidal.Config(base=base).build(dim=dim)
    vectors = code({"position": torch.arange(20)[None]})[0]
    for place in range(20):
        for i in range(dim // 2):
            angle = place / base ** (2 * i / dim)
            assert vectors[place, i] == pytest.approx(math.sin(angle), abs=1e-5)
            assert vectors[place, dim // 2 + i] == pytest.approx(math.cos(angle), abs=1e-5)


def test_sinusoids_are_the_same_in_every_model_and_have_nothing_to_learn():
    places = {"position": torch.arange(9)[None]}
    torch.manual_seed(1)
    one = Sinusoidal.Config().build(dim=6)
    torch.manual_seed(2)
    other = Sinusoidal.Config().build(dim=6)
    assert torch.equal(one(places), other(places))
    assert not list(one.parameters()) and not one.state_dict()


def test_sinusoids_go_on_for_longer_inputs_and_the_start_stays_the_same():
    code = Sinusoidal.Config().build(dim=8)
    short, long = (code({"position": torch.arange(n)[None]}) for n in (10, 100_000))
    assert torch.equal(long[:, :10], short) and long.isfinite().all()


def test_a_step_along_a_sinusoid_is_the_same_turn_everywhere():
    code = Sinusoidal.Config().build(dim=8).double()
    near, far = (code({"position": torch.tensor([[p, p + 5]])})[0] for p in (3, 400))
    assert (near[0] @ near[1]).item() == pytest.approx((far[0] @ far[1]).item(), abs=1e-9)


def test_a_learned_table_has_an_end_and_says_so():
    code = Learned.Config(size=10).build(dim=4)
    assert code({"position": torch.arange(10)[None]}).shape == (1, 10, 4)
    with pytest.raises(ConfigError, match=r"10 places has none for place 10(.|\n)*Sinusoidal"):
        code({"position": torch.arange(11)[None]})
    assert Learned.Config(size=10).limit() == 10 and Sinusoidal.Config().limit() is None


def test_a_learned_table_looks_up_and_learns_the_rows_it_was_asked_for():
    code = Learned.Config(size=5, axis="row").build(dim=3)
    out = code({"row": torch.tensor([[4, 1]])})
    assert torch.equal(out[0], code.table.weight[[4, 1]])
    out.sum().backward()
    assert code.table.weight.grad.any(1).tolist() == [False, True, False, False, True]


def test_fourier_codes_are_seeded_bounded_and_finer_with_scale():
    places = {"x": torch.linspace(0, 1, 50)[None], "y": torch.zeros(1, 50)}
    coarse, again, other, fine = (
        Fourier.Config(axes=("x", "y"), scale=scale, seed=seed).build(dim=64)(places)
        for scale, seed in ((1.0, 0), (1.0, 0), (1.0, 1), (10.0, 0))
    )
    assert torch.equal(coarse, again) and not torch.equal(coarse, other)
    assert coarse.abs().max() <= 1 and close(coarse.square().sum(-1), torch.full((1, 50), 32.0), 1e-4)
    step = [(code[:, 1:] - code[:, :-1]).norm(dim=-1).mean() for code in (coarse, fine)]
    assert step[1] > 3 * step[0]


def test_fourier_directions_travel_with_the_weights():
    config = Fourier.Config(axes=("x",))
    one, other = config.build(dim=8), config.replace(seed=5).build(dim=8)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one({"x": torch.ones(1, 1)}), other({"x": torch.ones(1, 1)}))


def test_codes_are_added_to_the_content():
    place = Add.Config(code=Sinusoidal.Config()).build(dim=6).double()
    x, coords = numbers(2, 4, 6), {"position": torch.arange(4).expand(2, 4)}
    assert torch.equal(place(x, coords), x + place.code(coords))


def test_codes_are_concatenated_and_projected_back_to_the_width():
    place = Concatenate.Config(code=Sinusoidal.Config(), width=4).build(dim=6).double()
    x, coords = numbers(2, 3, 6), {"position": torch.arange(3).expand(2, 3)}
    w, b = place.project.weight, place.project.bias
    assert close(place(x, coords), x @ w[:, :6].T + place.code(coords) @ w[:, 6:].T + b)


@pytest.mark.parametrize("build", [
    lambda: Sinusoidal.Config(axes=("x", "y")).build(dim=6),
    lambda: Sinusoidal.Config().build(dim=1),
    lambda: Sinusoidal.Config(axes=()),
    lambda: Sinusoidal.Config(base=0.0),
    lambda: Fourier.Config(axes=("x",)).build(dim=5),
    lambda: Fourier.Config(axes=()),
    lambda: Learned.Config(size=0),
    lambda: Concatenate.Config(code=Sinusoidal.Config(), width=-2),
])  # fmt: skip
def test_a_code_that_cannot_be_built_is_refused(build):
    with pytest.raises(ConfigError):
        build()


def test_a_grid_has_its_own_vector_at_each_place_and_mixes_between():
    code = Grid.Config(rows=3, columns=4).build(dim=5).double()
    table = code.table.weight.reshape(3, 4, 5)
    exact = code(grid(3, 4))[0].reshape(3, 4, 5)
    assert close(exact, table)
    place = {"row": torch.tensor([[0.25]]), "column": torch.tensor([[2.5]])}
    between = 0.75 * (table[0, 2] + table[0, 3]) / 2 + 0.25 * (table[1, 2] + table[1, 3]) / 2
    assert close(code(place)[0, 0], between)
    beyond = code({"row": torch.tensor([[-3.0]]), "column": torch.tensor([[9.0]])})[0, 0]
    assert close(beyond, table[0, 3])


def test_a_grid_needs_two_axes():
    with pytest.raises(ConfigError, match="two axes"):
        Grid.Config(rows=2, columns=2, axes=("row",))


def test_a_learned_table_may_begin_at_a_later_row():
    code = Learned.Config(size=5, start=2).build(dim=4)
    out = code({"position": torch.tensor([[-1, 0, 2]])})
    assert torch.equal(out[0], code.table.weight[[2, 2, 4]])
    assert Learned.Config(size=5, start=2).limit() == 3
    with pytest.raises(ConfigError, match="3 places has none for place 3"):
        code({"position": torch.tensor([[3]])})
    with pytest.raises(ConfigError, match="beyond"):
        Learned.Config(size=2, start=2)


def test_a_sum_of_codes_adds_them_and_is_as_long_as_the_shortest():
    parts = (
        Sinusoidal.Config(axes=("time",)),
        Learned.Config(axis="layer", size=3),
        Learned.Config(axis="row", size=5),
    )
    config = Sum.Config(codes=parts)
    code = config.build(dim=8)
    coords = {
        "time": torch.arange(4.0)[None],
        "layer": torch.tensor([[0, 1, 2, 0]]),
        "row": torch.tensor([[4, 3, 2, 1]]),
    }
    assert torch.equal(code(coords), sum(one(coords) for one in code.codes))
    assert config.limit() == 3 and Sum.Config(codes=parts[:1]).limit() is None
    with pytest.raises(ConfigError, match="at least one code"):
        Sum.Config(codes=())


@pytest.mark.parametrize("size", [(3, 4), (5, 2), (7, 9)])
def test_a_cubic_grid_is_interpolated_as_pictures_are(size: tuple[int, int]):
    code = Grid.Config(rows=3, columns=4, mixed="cubic").build(dim=5).double()
    lines = [(torch.arange(n).double() + 0.5) * places / n - 0.5 for n, places in zip(size, (3, 4), strict=True)]
    row, column = (t.flatten()[None] for t in torch.meshgrid(*lines, indexing="ij"))
    picture = code.table.weight.view(1, 3, 4, 5).permute(0, 3, 1, 2)
    wanted = torch.nn.functional.interpolate(picture, size=size, mode="bicubic", align_corners=False)
    assert close(code({"row": row, "column": column}), wanted.flatten(2).transpose(1, 2))
