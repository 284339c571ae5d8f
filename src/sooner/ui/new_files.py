"""Where to write in the end: refused now, and not after a minute of work, if that cannot be."""

import os
from argparse import ArgumentTypeError
from pathlib import Path

from sooner.extras import require


def new_file(name: str) -> Path:
    file = Path(name)
    if not file.parent.is_dir():
        raise ArgumentTypeError(f"there is no directory {str(file.parent)!r}")
    if file.is_dir():
        raise ArgumentTypeError(f"{name!r} is a directory; give the name of a file")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ArgumentTypeError(f"{name!r} cannot be written; give a file that can")
    return file


def folder(name: str) -> Path:
    """It is made if it is not there."""
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentTypeError(f"{name!r} cannot be a folder: {error.strerror}") from None
    if not os.access(name, os.W_OK):
        raise ArgumentTypeError(f"nothing can be written to {name!r}; give a folder where that can be")
    return Path(name)


def new_file_or_folder(name: str) -> Path:
    """A folder must be there already."""
    if Path(name).is_dir() and os.access(name, os.W_OK):
        return Path(name)
    return new_file(name)


def new_picture_or_folder(name: str) -> Path:
    """A folder must be there already."""
    if Path(name).is_dir():
        require("matplotlib", "A picture", "ui")
        return new_file_or_folder(name)
    return new_picture(name)


def new_picture(name: str) -> Path:
    """A file with an ending that says which kind of picture it is to be."""
    require("matplotlib", "A picture", "ui")
    from matplotlib.backend_bases import FigureCanvasBase  # here, because it takes a second to load

    endings = FigureCanvasBase.get_supported_filetypes()
    if Path(name).suffix.lower().removeprefix(".") not in endings:
        raise ArgumentTypeError(f"{name!r} is no picture; its name must end in .{', .'.join(endings)}")
    return new_file(name)
