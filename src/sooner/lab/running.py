"""Runs the races of experiments, each of them once, on several processors.

A race is a pure function of its fields, a scale, a seed and the code that it rests on. So what came of it may be kept,
and an experiment that asks for it again, perhaps with other claims, has it at once.
"""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from sooner.lab.code_version import code_version
from sooner.lab.experiment import Experiment, Histories, Race, Report
from sooner.lab.history import History
from sooner.lab.kept_histories import history_of

Job = tuple[Race, int]  # with a seed
Told = Callable[[float, str], None]  # which share of the work is done, and what was done last


def run_experiments(
    experiments: Sequence[Experiment],
    scale: int,
    seeds: Sequence[int],
    workers: int,
    told: Told,
    kept: Path | None = None,
) -> Iterator[Report]:
    """The report of each, as soon as its races are over; histories are taken from a folder, and kept there."""
    jobs = _in_order(set().union(*(_jobs(one, seeds) for one in experiments)))
    missing = {one.name: _jobs(one, seeds) for one in experiments}
    found: dict[Job, History] = {}
    done_seconds, all_seconds = 0.0, sum(race.seconds for race, _ in jobs)
    for job, history in _histories(jobs, scale, workers, kept):
        found[job] = history
        done_seconds += job[0].seconds
        told(done_seconds / all_seconds, _name_of(experiments, job))
        for one in experiments:
            if job in missing[one.name]:
                missing[one.name].discard(job)
                if not missing[one.name]:
                    by_seed = {seed: _histories_of(one.races, seed, found) for seed in seeds}
                    mutated = {mutant: _histories_of(one.mutated(mutant), seeds[0], found) for mutant in one.mutants}
                    yield one.report(scale, by_seed, mutated, code_version(one))


def _jobs(experiment: Experiment, seeds: Sequence[int]) -> set[Job]:
    """Mutants race with one seed: a claim that can fail does so with any."""
    jobs = {(race, seed) for race in experiment.races.values() for seed in seeds}
    mutants = {(race, seeds[0]) for mutant in experiment.mutants for race in experiment.mutated(mutant).values()}
    return jobs | mutants


def _histories_of(races: Mapping[str, Race], seed: int, found: dict[Job, History]) -> Histories:
    return {name: found[race, seed] for name, race in races.items()}


def _in_order(jobs: set[Job]) -> list[Job]:
    """The longest first, so that in the end no processor waits long for another."""
    return sorted(jobs, key=lambda job: (-job[0].seconds, job[1], repr(job[0])))


def _histories(jobs: Sequence[Job], scale: int, workers: int, kept: Path | None) -> Iterator[tuple[Job, History]]:
    run = partial(_run, scale=scale, kept=kept)
    if min(workers, len(jobs)) == 1:
        yield from map(run, jobs)
        return
    with Pool(min(workers, len(jobs)), _heed_the_pool_alone) as pool:
        yield from pool.imap_unordered(run, jobs)


def _heed_the_pool_alone() -> None:
    """Whoever interrupts means the whole: it ends the pool, which ends the processes, whatever they inherited."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(job: Job, scale: int, kept: Path | None) -> tuple[Job, History]:
    race, seed = job
    return job, history_of(race, scale, seed, kept)


def _name_of(experiments: Sequence[Experiment], job: Job) -> str:
    race, seed = job
    for one in experiments:
        for mutant in ("", *one.mutants):
            races = one.mutated(mutant) if mutant else one.races
            for name, other in races.items():
                if other == race:
                    return f"{one.name} {name}, seed {seed}" + f", mutant: {mutant}" * bool(mutant)
    raise KeyError(race)
