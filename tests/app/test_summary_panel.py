"""A summary dropped on the Data page is looked at there."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq

from calib import scale
from calib.scale.files import dumps
from tests.app.running import open_page
from tests.app.test_pages_upload import shown_text, upload
from tests.populations import population


def test_summary_shows_what_follows_from_sums(tmp_path):
    proba, labels = population(3_000, 4, seed=1)
    columns = {f"p(*c{code}*)": proba[:, code] for code in range(4)}
    columns |= {"label": [f"*c{code}*" for code in labels], "site": ["north", "south"] * 1_500}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    summary = scale.summarize(tmp_path, by="site")
    app = open_page("pages/start/data.py", example="two-patients")
    upload(app, "up", "run.calib.json.gz", dumps(summary))
    assert not app.exception
    text = shown_text(app)
    assert "3,000 rows, 4 classes" in text
    assert f"TL-ECE {summary.ece('top-label', app.slider(key='bins').value):.3f}" in text
    assert "predicted classes are" in text
    assert "groups are" in text
    app.slider(key="bins").set_value(20).run()
    assert not app.exception
    assert f"TL-ECE {summary.ece('top-label', 20):.3f}" in shown_text(app)


def test_damaged_summary_is_one_sentence(tmp_path):
    app = open_page("pages/start/data.py", example="two-patients")
    upload(app, "up", "run.calib.json.gz", gzip.compress(b'{"format": "calib-summary"}'))
    assert not app.exception
    assert "Not opened" in app.error[0].value
