"""The programs in `examples/` that run in process, as a user starts them."""

import subprocess
import sys

import pytest

from pages import ROOT

EXAMPLES = ROOT / "examples"
SAYS = {
    "first_results.py": "done: 4 x 3 rows arrived",
    "files.py": "100,000 rows, 1,000 of customers that are not in the file",
    "sockets.py": "{'customer': 2, 'cents': 500, 'name': 'Edsger'}",
    "change_stream.py": "{'article': 1, 'sale': 3, 'price': 120}",
}
ON_SPARK = {  # by tests/spark/test_examples_on_spark.py, and on_a_cluster.py by test_deploy.py
    "clicks_and_impressions.py", "enrich_from_delta.py", "enrich_from_postgres.py", "kafka.py", "on_a_cluster.py",
    "on_spark.py",
}  # fmt: skip


@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_should(name: str) -> None:
    ended = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert SAYS[name] in ended.stdout


def test_each_example_is_run_by_a_test() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == {*SAYS} | ON_SPARK
