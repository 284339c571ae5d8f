"""`python -m fuzz.sanitized_tests tests/kernels`: tests on the library with its loops compiled under sanitizers."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz import sanitizers


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sooner-sanitized-") as directory:
        sanitized = sanitizers.environment(Path(directory))
        sys.stderr.write(f"tests on {sanitized.says}\n")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *sys.argv[1:]]
        return subprocess.run(command, env=os.environ | sanitized.variables).returncode


if __name__ == "__main__":
    sys.exit(main())
