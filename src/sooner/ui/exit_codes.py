"""What the command `sooner` returns, if not 0."""

from typing import Final

FAILED: Final = 1
NOT_UNDERSTOOD: Final = 2
INTERRUPTED: Final = 130  # as shells have it
