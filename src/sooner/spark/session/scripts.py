"""Programs of a few lines that Spark runs instead of others. They lie beside the Python environment that runs this."""

import os
import sys
from pathlib import Path


def place_of(name: str) -> Path:
    """Where a file of ours is, by its name below our place in the environment."""
    return Path(sys.prefix) / "share" / "sooner" / name


def write_script(name: str, text: str) -> Path:
    """Whole at any moment: other programs may be running it."""
    script = place_of(name)
    script.parent.mkdir(parents=True, exist_ok=True)
    unfinished = script.with_suffix(f".{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.rename(script)
    return script
