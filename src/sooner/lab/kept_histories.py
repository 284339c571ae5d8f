"""Histories of races that were run, in a folder: a file for each, named by all that its history follows from."""

import hashlib
import json
import os
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Final

import numpy as np

from sooner.lab.code_version import version_of
from sooner.lab.experiment import Race
from sooner.lab.history import History

REST: Final = "all but the columns"


def history_of(race: Race, scale: int, seed: int, folder: Path | None) -> History:
    """Taken from the folder, if it is there; else the race is run, and what came of it is kept."""
    if folder is None:
        return race.run(scale, seed).thinned()
    file = folder / f"{_mark(race, scale, seed)}.npz"
    if file.exists():
        return _loaded(file)
    history = race.run(scale, seed).thinned()
    _save(history, file)
    return history


def _mark(race: Race, scale: int, seed: int) -> str:
    code = version_of(type(race).__module__, History.__module__)
    return hashlib.sha256(repr((race, scale, seed, code)).encode()).hexdigest()[:32]


def _save(history: History, file: Path) -> None:
    rest = {one.name: getattr(history, one.name) for one in fields(history) if one.name != "columns"}
    new = file.with_suffix(f".{os.getpid()}.npz")
    np.savez_compressed(new, allow_pickle=False, **{REST: np.array(json.dumps(rest)), **history.columns})
    new.replace(file)  # whoever is killed in the middle, or runs the same, leaves no half of a file


def _loaded(file: Path) -> History:
    with np.load(file, allow_pickle=False) as saved:
        rest = json.loads(str(saved[REST]))
        columns = {name: saved[name] for name in saved.files if name != REST}
    return History(columns, tuple(rest.pop("phases")), events=Counter(rest.pop("events")), **rest)
