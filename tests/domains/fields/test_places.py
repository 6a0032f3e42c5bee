"""Places on a grid: written as people write them, in the right cell, refused in words where there is none."""

import numpy as np
import pytest

from weft.domains.fields.reading.cells import cell_edges, direction, distances, find_place, longitude_words
from weft.domains.fields.reading.grid import FieldGrid
from weft.errors import ConfigError

GLOBE = FieldGrid(np.arange(88.75, -90, -2.5), np.arange(-180.0, 180, 2.5), wraps=True)
PACIFIC = FieldGrid(np.arange(20.0, -21, -5), np.arange(160.0, 221, 5))  # across the dateline
ALPS = FieldGrid(np.array([48.0, 47.0, 46.0]), np.array([6.0, 8.0, 10.0, 12.0]))
PLANE = FieldGrid(np.array([30.0, 20.0, 10.0]), np.array([0.0, 100.0]), surface="plane")


@pytest.mark.parametrize(
    "text",
    [
        "48.2,16.4",
        " 48.2 , 16.4 ",
        "48.2N,16.4E",
        "48.2n 16.4e",
        "48.2 16.4",
        "16.4E,48.2N",
        "48.2°N; 16.4°E",
        "48.2,376.4",
    ],
)
def test_a_place_may_be_written_in_several_ways(text: str):
    place = find_place(text, GLOBE)
    assert (GLOBE.y[place.row], GLOBE.x[place.column]) == (48.75, 17.5)
    assert place.words == "48.2°N 16.4°E"


@pytest.mark.parametrize("text", ["-33.9,-70.7", "33.9S,70.7W", "70.7W 33.9S", "-33.9,289.3"])
def test_south_and_west_count_downwards(text: str):
    place = find_place(text, GLOBE)
    assert (place.y, place.x) == pytest.approx((-33.9, -70.7))


@pytest.mark.parametrize("text, x", [("0,179.9", -180.0), ("0,-179.9", -180.0), ("0,178", 177.5)])
def test_the_last_column_is_a_neighbour_of_the_first(text: str, x: float):
    assert GLOBE.x[find_place(text, GLOBE).column] == x


def test_the_poles_belong_to_the_outermost_rows():
    assert find_place("90,0", GLOBE).row == 0
    assert find_place("-90,0", GLOBE).row == len(GLOBE.y) - 1


@pytest.mark.parametrize("text, x", [("0,170W", 190.0), ("0,-170", 190.0), ("0,190", 190.0), ("0,165E", 165.0)])
def test_a_grid_across_the_dateline_is_met_from_both_sides(text: str, x: float):
    assert PACIFIC.x[find_place(text, PACIFIC).column] == x


@pytest.mark.parametrize(
    "text", ["Vienna", "", "48.2", "1,2,3", "48.2N,16.4N", "-48.2N,16.4E", "nan,3", "48,inf", "a,b"]
)
def test_what_is_no_pair_of_numbers_is_refused_with_an_example(text: str):
    with pytest.raises(ConfigError, match=r"latitude,longitude such as 48\.2,16\.4"):
        find_place(text, GLOBE)


@pytest.mark.parametrize("text", ["49,8", "47,3", "47,14", "-47,8", "47,188"])
def test_a_place_outside_the_grid_is_refused_with_its_range(text: str):
    with pytest.raises(ConfigError) as refused:
        find_place(text, ALPS)
    assert "outside the grid" in str(refused.value) and "46°N to 48°N, 6°E to 12°E" in str(refused.value)


def test_half_a_cell_beyond_the_outermost_middles_still_belongs_to_the_grid():
    assert find_place("48.4,5.2", ALPS).row == 0
    assert find_place("47,12.9", ALPS).column == 3


def test_no_latitude_is_beyond_the_poles():
    with pytest.raises(ConfigError, match="from -90 to 90, found 148"):
        find_place("148,16", GLOBE)


def test_on_a_plane_two_numbers_are_y_and_x():
    place = find_place("19,90", PLANE)
    assert (place.row, place.column, place.words) == (1, 1, "y 19, x 90")
    with pytest.raises(ConfigError, match="y,x as two numbers"):
        find_place("19N,90E", PLANE)
    with pytest.raises(ConfigError, match="y 10 to 30"):
        find_place("50,90", PLANE)


def test_distances_go_along_the_sphere_and_over_the_dateline():
    place = find_place("0,179", GLOBE)
    quarter, near = distances(place, np.array([90.0, 0.0]), np.array([0.0, -179.0]), GLOBE)
    assert quarter == pytest.approx(np.pi / 2 * 6371) and near == pytest.approx(np.radians(2) * 6371)
    assert direction(place, 0.0, -179.0, GLOBE) == "east"
    assert distances(find_place("20,0", PLANE), np.array(10.0), np.array(0.0), PLANE) == 10


@pytest.mark.parametrize(
    "y, x, words", [(10.0, 0.0, "north"), (-10.0, 0.0, "south"), (0.0, -10.0, "west"), (7.0, 7.0, "northeast")]
)
def test_directions_are_those_of_a_compass(y: float, x: float, words: str):
    assert direction(find_place("0,0", GLOBE), y, x, GLOBE) == words


def test_longitudes_are_named_alike_in_every_turn():
    assert [longitude_words(x) for x in (190, -170, 550)] == ["170°W"] * 3
    assert [longitude_words(x) for x in (0, 180, -180, 12.5)] == ["0°", "180°", "180°", "12.5°E"]


def test_cells_meet_halfway_between_their_middles():
    assert cell_edges(np.array([4.0, 2.0, -2.0])).tolist() == [5.0, 3.0, 0.0, -4.0]
    assert sorted(cell_edges(np.array([7.0]))) == [6.5, 7.5]
