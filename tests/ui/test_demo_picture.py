"""The picture of the demo: how rows arrived, and how results did."""

from pathlib import Path

import numpy as np
import pytest

from sooner.ui.demo_picture import Drawn, draw_demo
from sooner.ui.milestones import Milestones


@pytest.mark.parametrize("milestones", [Milestones(), Milestones([1.0, 4.0], [10, 2_000])])
def test_the_picture_names_all_that_it_shows(milestones: Milestones, tmp_path: Path) -> None:
    arrivals = {"order lines": np.array([0.0, 0.1, 3.0]), "orders": np.array([0.0, 2.0])}
    drawn = Drawn(milestones, "sooner, 4 MB of memory", arrivals, batch_end=5.0, percent_after=2.5)
    file = tmp_path / "demo.svg"
    draw_demo(drawn, file)
    for words in ("order lines", "orders", "sooner, 4 MB of memory", "batch join", "known to 1%", "rows here, %"):
        assert f"<!-- {words}" in file.read_text() or words in file.read_text()
