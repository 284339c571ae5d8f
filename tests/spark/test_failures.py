"""The sentence that a task raised is found in what Spark makes of it."""

import io

import pytest

from sooner.errors import BudgetTooSmall, InvalidJoin, SoonerError, StateCorrupted
from sooner.spark.query.failures import as_sooner_error
from sooner.spark.session import java

AS_SPARK_SHOWS_IT = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated: Job aborted due to stage failure:
Task 0 in stage 4.0 failed 4 times, most recent failure: Lost task 0.3 in stage 4.0 (TID 9) (localhost executor driver):
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/x/sooner/runs/formats/files.py", line 117, in read
    raise StateCorrupted(text)
FileNotFoundError: [Errno 2] No such file

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/x/pyspark/worker.py", line 3, in main
{raised}

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:581)
SQLSTATE: XXKST"""


@pytest.mark.parametrize("kind", [StateCorrupted, InvalidJoin, BudgetTooSmall])
def test_the_sentence_comes_out_of_the_page(kind: type[SoonerError]) -> None:
    sentence = "The run file /x: 'a' is damaged: cut at 3.5 MB."
    found = as_sooner_error(RuntimeError(AS_SPARK_SHOWS_IT.format(raised=f"sooner.errors.{kind.__name__}: {sentence}")))
    assert type(found) is kind
    assert str(found) == sentence


def test_the_last_of_several_is_what_counts() -> None:
    """The first is only the cause of the second."""
    both = "sooner.runs.formats.versions.MissingVersion: Not there.\nsooner.errors.StateCorrupted: Start anew.\n"
    found = as_sooner_error(RuntimeError(AS_SPARK_SHOWS_IT.format(raised=both)))
    assert isinstance(found, StateCorrupted)
    assert str(found) == "Start anew."


@pytest.mark.parametrize(
    "raised", ["ValueError: sooner or later", "sooner.errors.NoSuchThing: x", "sooner.errors.annotations: x", ""]
)
def test_other_failures_stay_what_they_are(raised: str) -> None:
    assert as_sooner_error(RuntimeError(AS_SPARK_SHOWS_IT.format(raised=raised))) is None


def test_a_source_that_a_stopping_query_cuts_off_says_nothing_and_others_do(capsys: pytest.CaptureFixture[str]) -> None:
    cut_off = (
        b'Traceback (most recent call last):\n  File "python_streaming_source_runner.py", line 1\n    x\nEOFError\n'
    )
    other = b'Traceback (most recent call last):\n  File "mine.py", line 1\nValueError: odd\n'
    chain = b"\nDuring handling of the above exception, another exception occurred:\n\n"
    java._pass_on(io.BytesIO(b"WARNING: modules\nhello\n" + cut_off + other))
    assert capsys.readouterr().err == "hello\n" + other.decode()
    java._pass_on(io.BytesIO(cut_off + chain + other + chain + other + other + chain + other))
    assert capsys.readouterr().err == (other + chain + other).decode()
