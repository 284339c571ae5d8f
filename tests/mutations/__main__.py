"""Run mutations, as `make mutations` does. The exit code is 0 if the tests catch all of them."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from mutations import MUTATIONS
from mutations.mutation import Mutation
from mutations.trial import Verdict, try_mutation, try_without_mutation

LINES_SHOWN = 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutations", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="run this one; may be given several times")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="mutations that run side by side")
    parser.add_argument("--all-tests", action="store_true", help="run all tests of `make test` against each: hours")
    parser.add_argument("--list", action="store_true", help="show what there is, and run nothing")
    arguments = parser.parse_args()
    chosen = [one for one in MUTATIONS if arguments.only is None or one.name in arguments.only]
    if unknown := {*(arguments.only or ())} - {one.name for one in chosen}:
        parser.error(f"there is no mutation named {', '.join(sorted(unknown))}")
    if arguments.list:
        _say("\n".join(f"{one.name}: {one.breaks}" for one in chosen))
        return 0
    sound = try_without_mutation(chosen)
    if sound.outcome != "survived":
        _say(f"The tests fail without any mutation:\n{sound.details}")
        return 1
    _say(f"all tests pass without a mutation ({sound.seconds:.0f} s)")
    with ThreadPoolExecutor(arguments.workers) as workers:
        verdicts = list(workers.map(lambda one: _tried(one, arguments.all_tests), chosen))
    return _summed_up(chosen, verdicts)


def _tried(mutation: Mutation, all_tests: bool) -> Verdict:
    verdict = try_mutation(mutation, all_tests=all_tests)
    _say(f"{verdict.outcome:8} {mutation.name} ({verdict.seconds:.0f} s)")
    if verdict.outcome != "caught":
        shown = "\n".join(verdict.details.splitlines()[-LINES_SHOWN:])
        _say(f"    {mutation.breaks}\n{shown}")
    return verdict


def _summed_up(mutations: Sequence[Mutation], verdicts: Sequence[Verdict]) -> int:
    missed = [one.name for one, verdict in zip(mutations, verdicts, strict=True) if verdict.outcome != "caught"]
    _say(f"{len(mutations) - len(missed)} of {len(mutations)} mutations caught")
    if missed:
        _say(f"not caught: {', '.join(missed)}")
    return 1 if missed else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
