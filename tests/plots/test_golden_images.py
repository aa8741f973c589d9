"""Pictures look as they did, but for letters and edges; one that lost its marks does not.

The limit lies between what another way to draw letters changes (up to 0.21) and what the loss of
all marks does (from 0.33 on).
"""

import matplotlib
import pytest
from matplotlib.colors import same_color
from PIL import Image

from featly.plots.canvas import INK, ON_DARK, ON_LIGHT
from tests.plots.golden import FOLDER, PICTURES, distance, draw_png, remove_marks
from tests.plots.shared import texts_of

LIMIT = 0.27
MOST_BYTES = 30_000


@pytest.fixture
def golden_image(request):
    with Image.open(FOLDER / f"{request.param}.png") as image:
        yield request.param, image.copy()


@pytest.mark.parametrize("golden_image", PICTURES, indirect=True)
def test_pictures_look_as_they_did(golden_image):
    name, image = golden_image
    assert distance(image, draw_png(PICTURES[name]())) < LIMIT


@pytest.mark.parametrize("golden_image", PICTURES, indirect=True)
def test_pictures_that_lost_their_marks_do_not(golden_image):
    name, image = golden_image
    assert distance(image, draw_png(remove_marks(PICTURES[name]()))) > LIMIT


@pytest.mark.thorough
@pytest.mark.parametrize("golden_image", PICTURES, indirect=True)
@pytest.mark.parametrize(
    "settings",
    [{"text.hinting": "none", "text.antialiased": False}, {"font.family": "DejaVu Serif"}],
    ids=["hinting", "font"],
)
def test_other_letters_do_not_matter(golden_image, settings):
    name, image = golden_image
    with matplotlib.rc_context(settings):
        assert distance(image, draw_png(PICTURES[name]())) < LIMIT


@pytest.mark.parametrize("name", PICTURES)
def test_print_is_in_the_ink_of_the_house(name):
    ax = PICTURES[name]()
    ax.figure.canvas.draw()
    for text in texts_of(ax):
        house = [same_color(text.get_color(), tint) for tint in (INK, ON_LIGHT, ON_DARK)]
        assert any(house), text.get_text()
    for part in [ax, *ax.child_axes]:
        shown = [spine for spine in part.spines.values() if spine.get_visible() and part.axison]
        assert all(same_color(spine.get_edgecolor(), INK) for spine in shown)
        if name != "pairs":  # whose ground is that of cells without a position
            assert part.get_facecolor()[3] == 0


def test_pictures_differ_from_each_other():
    images = {}
    for name in PICTURES:
        with Image.open(FOLDER / f"{name}.png") as image:
            images[name] = image.copy()
    alike = [
        (first, second)
        for first in images
        for second in images
        if first != second and distance(images[first], images[second]) < LIMIT
    ]
    assert alike == []


def test_the_folder_holds_these_pictures_and_they_are_small():
    files = {file.stem: file.stat().st_size for file in FOLDER.glob("*")}
    assert set(files) == set(PICTURES)
    assert max(files.values()) < MOST_BYTES
