"""Runs the races of experiments, each of them once, on several processors."""

import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import Pool

from sooner.lab.code_version import code_version
from sooner.lab.experiment import Experiment, Histories, Race, Report
from sooner.lab.history import History

Job = tuple[Race, int]  # with a seed
Told = Callable[[float, str], None]  # which share of the work is done, and what was done last


def run_experiments(
    experiments: Sequence[Experiment], scale: int, seeds: Sequence[int], workers: int, told: Told
) -> Iterator[Report]:
    """The report of each, as soon as its races are over."""
    jobs = _in_order(set().union(*(_jobs(one, seeds) for one in experiments)))
    missing = {one.name: _jobs(one, seeds) for one in experiments}
    found: dict[Job, History] = {}
    done_seconds, all_seconds = 0.0, sum(race.seconds for race, _ in jobs)
    for job, history in _histories(jobs, scale, workers):
        found[job] = history
        done_seconds += job[0].seconds
        told(done_seconds / all_seconds, _name_of(experiments, job))
        for one in experiments:
            if job in missing[one.name]:
                missing[one.name].discard(job)
                if not missing[one.name]:
                    by_seed = {seed: _histories_of(one, seed, found) for seed in seeds}
                    yield one.report(scale, by_seed, code_version(one))


def _jobs(experiment: Experiment, seeds: Sequence[int]) -> set[Job]:
    return {(race, seed) for race in experiment.races.values() for seed in seeds}


def _histories_of(experiment: Experiment, seed: int, found: dict[Job, History]) -> Histories:
    return {name: found[race, seed] for name, race in experiment.races.items()}


def _in_order(jobs: set[Job]) -> list[Job]:
    """The longest first, so that in the end no processor waits long for another."""
    return sorted(jobs, key=lambda job: (-job[0].seconds, job[1], repr(job[0])))


def _histories(jobs: Sequence[Job], scale: int, workers: int) -> Iterator[tuple[Job, History]]:
    run = partial(_run, scale=scale)
    if min(workers, len(jobs)) == 1:
        yield from map(run, jobs)
        return
    # Whoever interrupts means the whole: it ends the pool, which ends the processes.
    with Pool(min(workers, len(jobs)), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.imap_unordered(run, jobs)


def _run(job: Job, scale: int) -> tuple[Job, History]:
    race, seed = job
    return job, race.run(scale, seed).thinned()


def _name_of(experiments: Sequence[Experiment], job: Job) -> str:
    race, seed = job
    name = next(f"{one.name} {name}" for one in experiments for name, other in one.races.items() if other == race)
    return f"{name}, seed {seed}"
