"""A mutation: a small fault put into a copy of the product on purpose, to see whether the tests notice."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class StaleError(Exception):
    """The product has changed: the text of a mutation is no longer there, or is there more than once."""


@dataclass(frozen=True)
class Mutation:
    name: str
    path: str  # below src/sooner, where the text was seen last
    old: str  # occurs exactly once
    new: str
    breaks: str
    tests: tuple[str, ...]  # that are expected to fail with it: files or functions, below tests

    def apply(self, root: Path) -> Path:
        """Put the fault into the product below `root`, and return the file that has it."""
        file = self.find(root)
        file.write_text(file.read_text().replace(self.old, self.new))
        return file

    def find(self, root: Path) -> Path:
        """Find the file with the old text: the one that is named, or any other if the text has moved."""
        package = root / "src" / "sooner"
        named = package / self.path
        files = [file for file in [named] if file.exists() and self.old in file.read_text()]
        files = files or [file for file in _sources(package) if self.old in file.read_text()]
        found = sum(file.read_text().count(self.old) for file in files)
        if found != 1:
            where = ", ".join(str(file.relative_to(package)) for file in files) or "any file"
            raise StaleError(f"{self.old!r} occurs {found} times in {where}")
        return files[0]


def _sources(package: Path) -> Iterator[Path]:
    return (file for kind in ("*.py", "*.c") for file in sorted(package.rglob(kind)))
