"""The report as the app offers it."""

from __future__ import annotations

from tests.app.running import open_page


def test_overview_makes_a_report():
    app = open_page("pages/start/overview.py", example="two-patients")
    app.toggle(key="make-report").set_value(True).run()
    assert not app.exception
    labels = [button.proto.label for button in app.get("download_button")]
    assert any(label.startswith("Report (HTML, ") for label in labels)
