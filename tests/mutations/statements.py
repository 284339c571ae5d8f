"""Faults of SQL over many tables: which tables join how, and what becomes of their groups."""

from mutations.mutation import Mutation

MANY = ("local/test_sql_many.py",)

MUTATIONS = (
    Mutation(
        "circle-not-compared",
        "queries/joining.py",
        old="            if pair not in kept:\n",
        new="            if pair not in equal:\n",
        breaks="Equal columns that close a circle are not compared at all.",
        tests=MANY,
    ),
    Mutation(
        "condition-asked-before-an-outer-join",
        "queries/joining.py",
        old="        elif table is None or self._may_be_missing(table, until):\n",
        new="        elif table is None:\n",
        breaks="WHERE right.x IS NULL after a LEFT JOIN is asked of rows of the right.",
        tests=MANY,
    ),
    Mutation(
        "subquery-sees-all-tables-alike",
        "queries/joining.py",
        old="here = self._scope.among(before, inner=at) if join.inside else self._scope.among([*before, at])",
        new="here = self._scope.among([*before, at])",
        breaks="A name inside of EXISTS does not mean its own table first.",
        tests=MANY,
    ),
    Mutation(
        "not-in-without-its-nulls",
        "local/not_in.py",
        old="            if known.num_rows and not self._nulls:\n",
        new="            if known.num_rows:\n",
        breaks="NOT IN gives rows although a null is among what they must not be in.",
        tests=MANY,
    ),
    Mutation(
        "null-not-in-something",
        "local/not_in.py",
        old="        if not self._rows:\n",
        new="        if not self._nulls:\n",
        breaks="NULL NOT IN of some rows is taken for true.",
        tests=MANY,
    ),
    Mutation(
        "least-for-largest",
        "operators/folding/running_groups.py",
        old='"max" if self._is_max else "min"',
        new='"min" if self._is_max else "max"',
        breaks="MIN is MAX.",
        tests=MANY,
    ),
    Mutation(
        "groups-of-any-size",
        "local/groups.py",
        old="        if n_bytes > bytes_for_groups(self.memory_bytes):\n",
        new="        if n_bytes < 0:\n",
        breaks="Groups take as much memory as they like.",
        tests=MANY,
    ),
    Mutation(
        "figures-said-to-be-exact",
        "local/groups.py",
        old="exact=self._query.is_done)",
        new="exact=True)",
        breaks="The figures of a query that was stopped are said to be exact.",
        tests=MANY,
    ),
    Mutation(
        "order-of-nulls-lost",
        "queries/answered.py",
        old="    return [*nulls, *known] if key.nulls_first else [*known, *nulls]\n",
        new="    return [*known, *nulls]\n",
        breaks="NULLS FIRST is not looked at.",
        tests=MANY,
    ),
)
