"""What benchmarks write: claims and measurements, which code they are of, and why a claim does not hold.

A report names the commit that was measured, and has a mark of the benchmark's own code, without comments, imports and
`main`. When the mark is not that of the script any more, the report is stale.
"""

import ast
import hashlib
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from reasons import REASONS

from sooner.lab.code_version import meaning

FOLDER = Path(__file__).parent


def write_report(
    file: Path, script: str, name: str, claims: list[dict[str, Any]], series: Any, **versions: str
) -> None:
    """`script` is the benchmark's file name without its ending."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), **versions}
    document = {"name": name, "machine": machine, "code": commit(), "script": mark_of(script)}
    document |= {"claims": [with_reason(script, claim) for claim in claims], "series": series}
    file.write_text(json.dumps(document, indent=1))


def with_reason(script: str, claim: dict[str, Any]) -> dict[str, Any]:
    why = "" if claim["holds"] else REASONS.get(script, {}).get(claim["what"], "")
    return {**claim, "why": why} if why else claim


def commit() -> str:
    """Of this checkout; with a plus if it has changes that are not committed."""
    command = ["git", "-C", str(FOLDER), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def mark_of(script: str) -> str:
    tree = ast.parse((FOLDER / f"{script}.py").read_text())
    tree.body = [node for node in tree.body if not is_beside_the_point(node)]
    return hashlib.sha256(meaning(ast.unparse(tree)).encode()).hexdigest()[:12]


def is_beside_the_point(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.FunctionDef) and node.name == "main")
