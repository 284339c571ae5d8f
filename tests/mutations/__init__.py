"""Faults that somebody could make in the product, each with the tests that must notice it: `make mutations`.

They say what the tests are for. Whoever thins, merges or drops tests runs them before and after: what was caught must
still be caught. A new mechanism brings its own.
"""

from typing import Final

from mutations import (
    estimation,
    expressions,
    kernels,
    many_inputs,
    operators,
    plans,
    policies,
    runs,
    spark,
    statements,
    surroundings,
)
from mutations.mutation import Mutation

MUTATIONS: Final[tuple[Mutation, ...]] = (
    *kernels.MUTATIONS,
    *runs.MUTATIONS,
    *operators.MUTATIONS,
    *many_inputs.MUTATIONS,
    *plans.MUTATIONS,
    *policies.MUTATIONS,
    *estimation.MUTATIONS,
    *expressions.MUTATIONS,
    *statements.MUTATIONS,
    *surroundings.MUTATIONS,
    *spark.MUTATIONS,
)
