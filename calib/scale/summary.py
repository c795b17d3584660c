"""Summaries of files of any number of rows: their merged sums, and where these come from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pandas as pd

from calib.answers.metric_tables import metric_intervals, metrics
from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.notions import Notion
from calib.evidence.sums import SummedRows
from calib.files.findings.rows import class_faults
from calib.scale.partial import combined
from calib.stats.measures import MEASURES


@dataclass(frozen=True, eq=False, repr=False)
class Summary(SummedRows):
    """The sums of files (see `calib.evidence.sums.SummedRows`) and where they come from.

    Every function of ``(y_true, scores)`` that needs no single rows takes a summary in first place:
    ``calib.noise_floor(summary)``.

    Notes
    -----
    Two summaries overlap if a part of one is a part of the other. The same rows, divided into other row
    groups, are not recognised.
    """

    #: Digest of the sums of each part of the data that is covered (a row group of a file), ascending
    parts: tuple[str, ...] = ()
    #: Faults of rows that were left out, and findings about some rows of each file
    findings: tuple[str, ...] = ()
    source: str = ""  #: Where the rows come from, for people

    @classmethod
    def of(
        cls, sums: SummedRows, parts: tuple[str, ...] = (), findings: tuple[str, ...] = (), source: str = ""
    ) -> Summary:
        """Return the summary of sums, given the parts that they come from."""
        known = {field.name: getattr(sums, field.name) for field in fields(SummedRows)}
        return cls(**known, parts=parts, findings=findings, source=source)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings about all rows: classes never true, never predicted or rare, too few rows."""
        if self.kind not in ("vectors", "top-label"):
            return ()
        expected = None
        if self.class_wise is not None:
            sums = self.class_wise
            expected = np.bincount(sums.key, weights=sums.total("score"), minlength=self.n_classes)
        found = class_faults(
            self.class_names, self.n_samples, self.predicted, true=self.true, expected=expected
        )
        return tuple(f"{finding.message} ({finding.code})" for finding in found)

    @property
    def n_bytes(self) -> int:
        """Bytes of all sums."""
        cells = [self.top, self.class_wise, *(groups for _, groups in self.by.values())]
        arrays = [(cell.place, cell.count, cell.high, cell.low) for cell in cells if cell is not None]
        return sum(array.nbytes for four in arrays for array in four)

    @cached_property
    def digest(self) -> str:
        """Hex digest of all sums."""
        made = hashlib.blake2b(repr((self.fingerprint, self.findings, self.source)).encode(), digest_size=16)
        further = [("", self.class_wise), *((name, cells) for name, (_, cells) in self.by.items())]
        for name, cells in further:
            made.update(repr((name, self.by.get(name, ((),))[0])).encode())
            if cells is not None:
                for array in (cells.place, cells.count, cells.high, cells.low):
                    made.update(np.ascontiguousarray(array).tobytes())
        return made.hexdigest()

    def merge(self, other: Summary) -> Summary:
        """Return the summary of the rows of both.

        Raises
        ------
        InputError
            If both cover the same part of the data, or differ in kind, classes, weights or groups.
        """
        shared = set(self.parts) & set(other.parts)
        if shared:
            raise InputError(
                f"the summaries overlap: {len(shared):,} of their {len(self.parts):,} and "
                f"{len(other.parts):,} "
                "parts have the same content, and their rows would count twice; summarize the files once"
            )
        sources = dict.fromkeys(text for text in (self.source, other.source) if text)
        return Summary.of(
            combined([self, other]),
            tuple(sorted((*self.parts, *other.parts))),
            (*self.findings, *other.findings),
            ", ".join(sources)[:1000],
        )

    def ece(self, notion: Notion | None = None, n_bins: int = N_BINS, norm: float = 1) -> float:
        """Return the calibration error of a notion, by default the first of the kind; see `calib.ece`."""
        return self.cells(notion, n_bins=n_bins).ece(norm)

    def frame(self, n_bins: int = N_BINS) -> pd.DataFrame:
        """Return one row per number: its name, its value, and its 95 % interval if sums give one."""
        numbers = metrics(self, n_bins=n_bins)
        ends = metric_intervals(self, numbers)
        nothing = (np.nan, np.nan)
        rows = [
            (MEASURES[key].title, value, *ends.get(key, nothing)) for key, value in numbers.values.items()
        ]
        return pd.DataFrame(rows, columns=["metric", "value", "lower", "upper"])
