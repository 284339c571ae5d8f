"""The docs as a site: no link or anchor leads nowhere, and the reference has all public names."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from reference import reference_of

import sooner
import sooner.spark
from pages import ROOT

pytestmark = pytest.mark.long


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="pip install '.[docs]'; `make docs` does it")
def test_the_site_is_built_strictly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    for page in ("index.html", "tutorial/index.html", "reference/sooner/index.html", "algorithms/rpj/index.html"):
        assert (tmp_path / page).is_file()


def test_the_reference_has_all_public_names_with_their_signatures() -> None:
    for module in (sooner, sooner.spark):
        page = reference_of(module)
        for name in module.__all__:
            assert f"## {name}\n" in page or name == "__version__"
    assert "```python\ndef join(\n    left: object,\n    right: object," in reference_of(sooner)
    assert "- **suffixes**: for columns that are not keys" in reference_of(sooner)
