"""Reports have two artifacts, whose names data may have (repository spec 2.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.lifetimes import parse_lifetime
from bayou.domain.names import check_data_name
from bayou.domain.reports import GARBAGE_COLLECTION, LIFETIME, report_names, report_tags
from bayou.domain.retention import parse_policy


@pytest.mark.parametrize(
    ("report", "vary", "markdown", "json"),
    [
        ("cost", (), "report-cost", "report-cost-json"),
        ("@acme/cost report", (), "report-acme-cost-report", "report-acme-cost-report-json"),
        ("cost", ("eu", "prod"), "report-cost-eu-prod", "report-cost-json-eu-prod"),
        ("../..", (), "report-unnamed", "report-unnamed-json"),
    ],
)
def test_names(report: str, vary: tuple[str, ...], markdown: str, json: str) -> None:
    assert report_names(report, vary) == (markdown, json)


@given(st.text(max_size=60))
def test_any_report_has_names_that_data_may_have(report: str) -> None:
    names = report_names(report)
    assert len({check_data_name(name) for name in names}) == 2


def test_reports_have_no_model_and_a_lifetime() -> None:
    assert report_tags("cost", "model") == {"type": "report", "reportName": "cost", "reportScope": "model"}
    assert report_tags("cost", "model", ("eu", "prod"))["varySuffix"] == "eu-prod"
    assert str(parse_lifetime(LIFETIME)) == "30d"
    parse_policy(GARBAGE_COLLECTION)
