"""Reports as JSON: the same document, in lines that can be compared."""

import json

import pytest

from sooner.ui.reports import to_json


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"name": "a", "claims": [], "series": {}},
        {"claims": [{"what": "w", "ours": 1.5}, {"what": 'ü "quoted"', "holds": False}], "machine": {"cores": 2}},
        {"series": {"rpj": {"seconds": [0.0, 1.5], "events": {"Merged": 3}}, "hmj": {}, "all": [1, 2]}, "code": None},
    ],
)
def test_it_is_the_same_document(document: dict) -> None:
    assert json.loads(to_json(document)) == document


def test_a_claim_and_a_curve_have_a_line_each() -> None:
    lines = to_json({"claims": [{"what": "w"}], "series": {"rpj": {"results": [1, 2, 3]}}}).splitlines()
    assert '  {"what": "w"}' in lines
    assert '   "results": [1, 2, 3]' in lines
