"""Which sooner this is."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sooner")
except PackageNotFoundError:  # run from its sources, or shipped to a worker without its metadata
    __version__ = "unknown"
