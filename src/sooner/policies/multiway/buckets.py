"""MJoin's flush (Viglas, Naughton, Burger; DINER sec. 5): buckets of rows leave as wholes.

With one attribute the bucket that is largest over all inputs leaves, of all of them. With several attributes rows have
no bucket in common, and rows leave by chance: those of some buckets of the input that has most in memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sooner.errors import InvalidJoin
from sooner.policies.flush.regions import USELESS
from sooner.policies.multi_view import EvictBuckets, EvictInput, MultiEvict, MultiView


@dataclass(frozen=True)
class Buckets:
    share: float = 0.1  # of the buckets of an input, where rows leave by chance

    def choose(self, view: MultiView, needed_bytes: int) -> Iterator[Sequence[MultiEvict]]:  # noqa: ARG002
        if view.buckets is None:
            raise InvalidJoin("The flush policy Buckets looks at buckets; give its algorithm sees='buckets'.")
        sizes = view.buckets.copy()
        if (useless := view.useless) is not None and sizes[useless].any():
            yield [EvictInput(useless, USELESS)]
            sizes[useless] = 0
        dice = np.random.default_rng(view.tick)  # the same state gives the same choice
        while sizes.any():
            if view.n_attributes == 1:
                largest = int(sizes.sum(axis=0).argmax())
                yield [EvictBuckets(which, [largest]) for which in np.flatnonzero(sizes[:, largest]).tolist()]
                sizes[:, largest] = 0
            else:
                victim = int(sizes.sum(axis=1).argmax())
                some = dice.permutation(np.flatnonzero(sizes[victim]))[: int(np.ceil(self.share * sizes.shape[1]))]
                yield [EvictBuckets(victim, some.tolist())]
                sizes[victim, some] = 0
