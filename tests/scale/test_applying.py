"""Applying to files: what the rows in memory give, in their order, with every column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib import HistogramBinning, InputError, MulticlassToBinary, TemperatureScaling, read, scale
from calib.answers.calibrated import applied_frame
from calib.cli.parser import main
from tests.populations import population

N, L = 3_000, 4


@pytest.fixture(scope="module")
def rows():
    return population(N, L, seed=4)


def write(rows, file, start=0, stop=N, **further):
    proba, labels = rows
    columns = {f"p(c{code})": proba[:, code] for code in range(L)}
    columns |= {"label": [f"c{code}" for code in labels], "who": np.arange(N), **further}
    pq.write_table(pa.table(columns)[start:stop], file, row_group_size=700)
    return file


@pytest.fixture(scope="module")
def fitted(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    write(rows, folder / "rows.parquet")
    chosen = (MulticlassToBinary(HistogramBinning(n_bins=8)), TemperatureScaling())
    return [scale.fit(folder, item, part="evaluation") for item in chosen]


@pytest.mark.parametrize("which", [0, 1])
def test_rows_columns_and_numbers(rows, fitted, tmp_path, which):
    file = write(rows, tmp_path / "a.parquet")
    done = scale.apply(fitted[which], file, tmp_path / "out.parquet")
    assert (done.n_rows, done.n_resumed) == (N, 0)
    before, after = pq.read_table(file), pq.read_table(tmp_path / "out.parquet")
    expected = applied_frame(fitted[which], read(write(rows, tmp_path / "b.parquet")))
    new = set(expected) - {"true", "who"}
    for name in before.column_names:
        assert after[f"{name} (before)" if name in new else name].equals(before[name]), name
    for name in new:
        assert after[name].to_numpy().tolist() == expected[name].tolist(), name


def test_finished_files_are_left_alone_and_others_written_again(rows, fitted, tmp_path):
    (tmp_path / "in").mkdir()
    for at in range(3):
        write(rows, tmp_path / "in" / f"{at}.parquet", 1000 * at, 1000 * at + 1000)
    pattern, out = str(tmp_path / "in" / "*.parquet"), tmp_path / "out"
    assert scale.apply(fitted[0], pattern, out).n_resumed == 0
    first = (out / "0.parquet").read_bytes()
    (out / "1.parquet").unlink()
    (out / "2.parquet").write_bytes(b"half")
    assert scale.apply(fitted[0], pattern, out).n_resumed == 1
    assert (out / "0.parquet").read_bytes() == first
    assert sum(pq.read_metadata(file).num_rows for file in out.iterdir()) == N
    assert scale.apply(fitted[1], pattern, out).n_resumed == 0  # with another calibrator


def test_a_fault_leaves_no_half_file(rows, fitted, tmp_path):
    proba = rows[0].copy()
    proba[2222, 1] = np.nan
    file = write((proba, rows[1]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet, row group 3, row 2222: .*missing or infinite"):
        scale.apply(fitted[0], file, tmp_path / "out.parquet")
    assert [item.name for item in tmp_path.iterdir()] == ["a.parquet"]
    with pytest.raises(InputError, match="same file as the input"):
        scale.apply(fitted[0], file, file)


def test_rows_without_an_answer_stay_and_are_missing(tmp_path):
    said = np.array(["a", "b", "IDK", "a"] * 50, dtype=object)
    columns = {"predicted": said, "confidence": np.tile([0.6, 0.7, 0.1, 0.9], 50), "label": ["a"] * 200}
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), file)
    calibrator = scale.fit(file, MulticlassToBinary(HistogramBinning(n_bins=1)), part="evaluation")
    scale.apply(calibrator, file, tmp_path / "out.parquet")
    after = pq.read_table(tmp_path / "out.parquet")
    assert after["predicted (before)"].to_pylist() == said.tolist()
    assert after["calibrated"].to_pylist()[:4] == [1.0, 0.0, None, 1.0]


def test_commands(rows, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for at in range(2):
        write(rows, tmp_path / "in" / f"{at}.parquet", 1500 * at, 1500 * at + 1500)
    pattern, out = str(tmp_path / "in" / "*.parquet"), str(tmp_path / "cal.json")
    assert main(["fit", pattern, "--n-bins", "8", "--fallback", "pooled", "-o", out]) == 0
    assert "3,000 rows" in capsys.readouterr().out
    assert main(["apply", out, pattern, "-o", str(tmp_path / "out")]) == 0
    assert "2 files" in capsys.readouterr().out
    assert main(["apply", out, pattern, "-o", str(tmp_path / "out")]) == 0
    assert "2 of them were finished" in capsys.readouterr().out
    assert main(["fit", pattern, "--method", "isotonic", "-o", out]) == 2
    assert "histogram binning" in capsys.readouterr().err
