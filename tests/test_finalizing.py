"""What is done once for an object: when somebody says so, when it is forgotten, or when the interpreter ends."""

import gc
import subprocess
import sys
import textwrap
import threading

import pytest

from patience import HANG_SECONDS
from sooner import finalizing
from sooner.finalizing import Finalizer


class Owner:
    """Something that can be forgotten."""


def test_it_is_done_once_when_somebody_says_so() -> None:
    done: list[int] = []
    owner = Owner()
    finalizer = Finalizer(owner, done.append, 1)
    assert done == []
    finalizer()
    finalizer()
    del owner
    gc.collect()
    assert done == [1]


def test_it_is_done_once_when_its_owner_is_forgotten() -> None:
    done: list[int] = []
    owner = Owner()
    finalizer = Finalizer(owner, done.append, 1)
    del owner
    assert done == [1]
    finalizer()
    assert done == [1]


def test_nobody_needs_to_keep_it_and_nothing_is_kept_when_it_is_done() -> None:
    done, before = list[int](), len(finalizing._pending)
    owner = Owner()
    owner.itself = owner  # type: ignore[attr-defined]
    Finalizer(owner, done.append, 1)
    assert len(finalizing._pending) == before + 1
    del owner
    gc.collect()
    assert done == [1]
    assert len(finalizing._pending) == before


def test_an_error_comes_to_who_calls_and_it_is_not_done_again() -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise OSError("the disk is gone")

    owner = Owner()
    finalizer = Finalizer(owner, fail)
    with pytest.raises(OSError, match="the disk is gone"):
        finalizer()
    finalizer()
    assert done == [1]


def test_many_threads_that_call_one_do_it_once() -> None:
    done: list[int] = []
    for number in range(300):
        owner, gate = Owner(), threading.Barrier(4)
        finalizer = Finalizer(owner, done.append, number)

        def call(finalizer: Finalizer = finalizer, gate: threading.Barrier = gate) -> None:
            gate.wait(HANG_SECONDS)
            finalizer()

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert done == [*range(300)]


def ended(program: str) -> subprocess.CompletedProcess[str]:
    """A program that has come to its end, well."""
    start = "from sooner.finalizing import Finalizer\nclass Owner: pass\n"
    command = [sys.executable, "-c", start + textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert done.returncode == 0, done.stderr
    return done


def test_at_the_end_the_newest_come_first_and_those_that_are_done_do_not_come() -> None:
    done = ended("""
        owners = [Owner() for _ in range(5)]
        finalizers = [Finalizer(owner, print, number) for number, owner in enumerate(owners)]
        finalizers[3]()
        del owners[1]
    """)
    assert done.stdout.split() == ["3", "1", "4", "2", "0"]
    assert done.stderr == ""


def test_at_the_end_an_error_is_told_and_the_others_have_their_turn() -> None:
    done = ended("""
        def fail(): raise OSError("the disk is gone")
        owners = [Owner() for _ in range(3)]
        for owner, do in zip(owners, (lambda: print("first"), fail, lambda: print("last"))):
            Finalizer(owner, do)
    """)
    assert done.stdout.split() == ["last", "first"]
    assert done.stderr.count("OSError: the disk is gone") == 1


def test_those_that_are_made_at_the_end_are_done_too() -> None:
    done = ended("""
        owners = [Owner(), Owner()]
        Finalizer(owners[0], print, "first")
        Finalizer(owners[1], lambda: Finalizer(owners[0], print, "made by it"))
    """)
    assert done.stdout.splitlines() == ["first", "made by it"]


def test_at_the_end_another_thread_may_make_and_call_them() -> None:
    """A daemon goes on while the interpreter ends; `weakref.finalize` fails then."""
    done = ended("""
        import sys, threading
        sys.setswitchinterval(1e-6)
        begun, count = threading.Event(), 0

        def go_on():
            while True:
                owners = [Owner() for _ in range(20)]
                finalizers = [Finalizer(owner, int) for owner in owners]
                begun.set()
                for finalizer in finalizers[::2]:
                    finalizer()
                del owners

        def count_one():
            global count
            count += 1

        for _ in range(3):
            threading.Thread(target=go_on, daemon=True).start()
        begun.wait()
        kept = [Owner() for _ in range(3000)]
        oldest = Owner()
        for owner in kept:
            Finalizer(owner, count_one)
        import atexit
        atexit.unregister(__import__("sooner.finalizing").finalizing._finalize_all)
        atexit.register(lambda: print(count, flush=True))
        atexit.register(__import__("sooner.finalizing").finalizing._finalize_all)
    """)
    assert done.stdout.split() == ["3000"]
    assert "Traceback" not in done.stderr
