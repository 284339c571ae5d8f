"""What an operator says of itself, for the page."""

from typing import Any

from sooner.progress import Progress
from sooner.ui.dashboard.time_left import Clock, TimeLeft


def plain_progress(progress: Progress | None, clock: Clock, left: TimeLeft | None) -> dict[str, Any]:
    """Beside what the trace tells; nothing before there is progress."""
    if progress is None:
        return {}
    return {
        "phase": progress.phase,
        "results": progress.results,
        "rows": list(progress.arrived_rows),
        "resident_bytes": progress.resident_bytes,
        "peak_bytes": progress.peak_bytes,
        "resident_rows": progress.resident_rows,
        "spilled_rows": progress.spilled_rows,
        "spilled_bytes": progress.spilled_bytes,
        "late": list(progress.late_rows),
        "forgotten": list(progress.forgotten_rows_by_side),
        "held": list(getattr(progress, "held_rows", ())),
        "covered": progress.covered_fraction,
        "rate": clock.rate,
        "left": None if left is None else {"seconds": left.seconds, "error": left.error_seconds, "said": str(left)},
        "fallbacks": list(progress.fallbacks),
        "lookups": _lookups(progress) if progress.manner else None,
    }


def _lookups(progress: Progress) -> dict[str, Any]:
    stream = progress.arrived_rows[0]
    return {
        "manner": progress.manner,
        "hits": progress.known_rows,
        "misses": max(stream - progress.known_rows - progress.waiting_rows, 0),
        "waiting": progress.waiting_rows,
        "waited_median": progress.waited_seconds(0.5),
        "waited_99": progress.waited_seconds(0.99),
        "waited": list(progress.waited_rows),
        "read_bytes": progress.read_bytes,
        "newest_version": progress.newest_version,
    }
