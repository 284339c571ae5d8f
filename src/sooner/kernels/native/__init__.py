"""The compiled loops of `kernels.c`, and how arrays are handed to them.

A loop is called with addresses, so nothing but its caller answers for types, lengths and positions: only the modules of
`kernels` call them. Long loops let other threads run meanwhile.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from importlib.abc import ResourceLoader
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import MissingLibrary
from sooner.kernels.native.prototypes import Address

_Arguments = ParamSpec("_Arguments")
_Given = TypeVar("_Given")

LIBRARY: Final = "kernels.so"
_FEW: Final = 1_000  # rows: to let other threads run would take longer than such a loop


def _load() -> ctypes.CDLL:
    """The library beside this file. In a zip, as Spark ships packages, it has no path and is loaded from memory."""
    library = Path(__file__).with_name(LIBRARY)
    if library.exists():
        return ctypes.CDLL(str(library))
    try:
        content = cast(ResourceLoader, __spec__.loader).get_data(str(library))
    except OSError as error:
        raise MissingLibrary(
            f"The compiled part of sooner ({LIBRARY}) is not here: these are its sources alone. "
            "Install them with `pip install` or `make setup`."
        ) from error
    if not hasattr(os, "memfd_create"):
        raise MissingLibrary("Only on Linux can sooner be loaded from a zip; install it with `pip install`.")
    with os.fdopen(os.memfd_create(LIBRARY), "wb") as file:
        file.write(content)
        file.flush()
        return ctypes.CDLL(f"/proc/self/fd/{file.fileno()}")


_long: Final = _load()
_short: Final = ctypes.PyDLL(None, handle=_long._handle)
_get_pointer: Final = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def loop(
    prototype: Callable[_Arguments, _Given], of: str | int | None = None
) -> Callable[Concatenate[int, _Arguments], _Given]:
    """A loop of the library, to be called with the number of its rows and then its arguments.

    `of` is the rest of its name, where there is one for each of several types.
    """
    name = prototype.__name__ if of is None else f"{prototype.__name__}_{of}"
    *arguments_are, given_is = map(c_type, prototype.__annotations__.values())
    short, long = _short[name], _long[name]
    for function in (short, long):
        function.restype, function.argtypes = given_is, arguments_are

    def call(n_rows: int, /, *arguments: Any) -> Any:
        return short(*arguments) if n_rows < _FEW else long(*arguments)

    return cast(Callable[Concatenate[int, _Arguments], _Given], call)


def c_type(annotation: Any) -> Any:
    """What a prototype says of an argument, as ctypes has it."""
    if annotation is None:
        return None
    return ctypes.c_void_p if annotation is Address else annotation.__metadata__[0]


def address(values: npt.NDArray[Any] | None) -> Address:
    """Where the values of an array begin; they must lie one after the other. Whoever asks keeps the array alive."""
    if values is None:
        return Address(0)
    where: Address = pa.py_buffer(values).address  # it refuses values that lie apart, and is quicker than asking NumPy
    return where


def buffer_address(buffer: pa.Buffer | None, skipped_bytes: int = 0) -> Address:
    return Address(0 if buffer is None else buffer.address + skipped_bytes)


def capsule_address(capsule: object, name: str) -> Address:
    """What a capsule with this name holds; whoever asks keeps the capsule alive."""
    where: Address = _get_pointer(capsule, name.encode())
    return where


def addresses(where: Sequence[Address]) -> npt.NDArray[np.uint64]:
    """Several addresses as an array of pointers."""
    return np.array(where, np.uint64)
