"""States that earlier releases wrote: this one goes on from them, or says why not.

Each archive is the state of a join after two batches, as the release wrote it, and the pairs that had come out by then.
"""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from join_steps import Arriving, Lane, Pairs, plan_of, same
from queries import numbered

STATES = sorted((Path(__file__).parents[1] / "states").glob("*.zip"))
LEFT, RIGHT = numbered(600, 150, 1, "a"), numbered(600, 150, 2, "b")


def lane_in(folder: Path, algorithm: str) -> Lane:
    return Lane(plan_of(LEFT.schema, RIGHT.schema, folder, algorithm=algorithm, memory_bytes=2**13))


def all_pairs(folder: Path, algorithm: str) -> Pairs:
    lane = lane_in(folder, algorithm)
    lane.step(Arriving(LEFT, RIGHT))
    return lane.end()


@pytest.mark.parametrize("archive", STATES, ids=lambda archive: archive.stem)
def test_a_state_of_before_is_gone_on_from(archive: Path, tmp_path: Path) -> None:
    algorithm = archive.stem.split("-")[2]
    with zipfile.ZipFile(archive) as files:
        files.extractall(tmp_path / "state")
    before = np.array(json.loads((tmp_path / "state" / "pairs.json").read_text()), np.int64)
    lane = lane_in(tmp_path, algorithm)
    lane.version = 2
    lane.step(Arriving(LEFT.slice(400), RIGHT.slice(400)))
    found = np.sort(np.concatenate((before, lane.end())))
    assert same(found, all_pairs(tmp_path / "anew", algorithm)), "each pair once, by the one release or the other"
    assert 0 < len(before) < len(found)
