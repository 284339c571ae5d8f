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
        "operators/folding/gathered.py",
        old='grouped(rows, ["group"], ("value", function))\n',
        new='grouped(rows, ["group"], ("value", {"max": "min", "min": "max"}[function]))\n',
        breaks="MIN is MAX.",
        tests=MANY,
    ),
    Mutation(
        "distinct-values-count-often",
        "operators/folding/gathered.py",
        old="_distinct(rows) if self._asked.distinct",
        new="rows if self._asked.distinct",
        breaks="COUNT(DISTINCT x) counts each value as often as it comes.",
        tests=("local/test_sql_as_written.py",),
    ),
    Mutation(
        "a-sample-of-what-may-be-missing",
        "local/sql_estimates.py",
        old='how in ("inner", "right")',
        new='how in ("inner", "right", "left")',
        breaks="The right of a left join is sampled, and rows of the left seem to match nothing.",
        tests=("local/test_sql_samples.py",),
    ),
    Mutation(
        "offset-after-the-limit",
        "local/row_endings.py",
        old="most = None if self.limit is None else self.offset + self.limit",
        new="most = self.limit",
        breaks="ORDER BY ... LIMIT OFFSET loses rows of which there are many.",
        tests=("local/test_sql_row_endings.py",),
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
        "queries/row_order.py",
        old="ways = [descending, nulls_first]",
        new="ways = [descending, False]",
        breaks="NULLS FIRST is not looked at.",
        tests=MANY,
    ),
)
