"""Every number calib reports about a method: its key, its title, and what it measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calib.base.exceptions import InputError
from calib.data.kinds import Kind, lacks, lacks_any
from calib.data.notions import Notion
from calib.evidence.binning import BinStatistics

if TYPE_CHECKING:
    from calib.evidence.rows import Evidence  # and with it SciPy, which `calib gate --help` needs not

Metric = Literal["ece", "mce", "accuracy", "auc", "brier", "log_loss"]


@dataclass(frozen=True)
class Measure:
    key: str  #: Its name in code, JSON and limits: an attribute of `calib.answers.Summary`, except "conf_mce"
    title: str  #: Its name in tables and sentences, in the field's terms
    metric: Metric  #: {"ece", "mce", "accuracy", "auc", "brier", "log_loss"}: the estimator
    #: What an error conditions on; for a score, "top-label" means that the predicted class is right
    notion: Notion | None
    aggregate: str = "cell"  #: {"cell", "bin"}: for an MCE, as in `calib.mce`
    #: Ingredients of `calib.data.kinds`, one of which predictions must have; by default what its notion needs
    needs: tuple[str, ...] = ()
    listed: bool = True  #: Whether tables list it; the gate accepts limits on it in any case

    def missing(self, source: Kind | str | Evidence) -> str | None:
        """Say in one sentence what a kind of predictions, or evidence, lacks for this number; else None."""
        kind = source if isinstance(source, (Kind, str)) else source.kind
        if (missing := lacks_any(kind, self.needs, self.title)) is not None:
            return missing
        if self.needs and self.metric != "auc":
            return None
        asked = "The AUC" if self.metric == "auc" else f"notion:{self.notion}"
        return lacks(source, asked) if isinstance(source, (Kind, str)) else source.lacks(asked)

    @property
    def about(self) -> str:
        """Its meaning, in one sentence."""
        return _ABOUT[self.key]

    @property
    def higher_is_better(self) -> bool:
        return self.metric in ("accuracy", "auc")

    def value(self, evidence: Evidence, *, cells: BinStatistics | None = None, **bins: Any) -> float:
        """Compute the number from evidence, in `bins` (n_bins and strategy) or given `cells`."""
        if (missing := self.missing(evidence)) is not None:
            raise InputError(missing)
        if self.is_error:
            cells = evidence.cells(self.notion, **bins) if cells is None else cells
            return cells.ece() if self.metric == "ece" else cells.mce(self.aggregate)
        if self.metric == "auc" and self.notion is not None:
            return evidence.area_value(self.notion)
        if self.metric == "accuracy" or self.notion is None:
            return evidence.mean(self.metric).value
        return evidence.event_mean(self.metric, "confidence")

    @property
    def is_error(self) -> bool:
        return self.metric in ("ece", "mce")

    @property
    def of_cells(self) -> dict[str, Any]:
        """Options of an error whose notion is known."""
        return {"metric": self.metric, "aggregate": self.aggregate}

    @property
    def options(self) -> dict[str, Any]:
        return {"notion": self.notion} | self.of_cells


#: Numbers of a rule that accepts predictions, which a gate can limit if there is a rule.
RULED = {"accepted": "share of predictions accepted", "accepted_accuracy": "accuracy of accepted predictions"}

_WHOLE = ("vector", "event", "every label")

#: Every number by its key.
MEASURES: dict[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure("accuracy", "Accuracy", "accuracy", "top-label", needs=("confidence", "event")),
        Measure("auc", "AUC of P(Y = 1)", "auc", "class-wise", needs=("event",)),
        Measure("cw_auc", "AUC, one against rest", "auc", "class-wise", needs=("scores",)),
        Measure("top_auc", "AUC, top label", "auc", "confidence", needs=("confidence",)),
        Measure("conf_ece", "conf-ECE", "ece", "confidence"),
        Measure("tl_ece", "TL-ECE", "ece", "top-label"),
        Measure("tl_mce_cell", "TL-MCE (cell)", "mce", "top-label"),
        Measure("tl_mce_bin", "TL-MCE (bin)", "mce", "top-label", aggregate="bin"),
        Measure("cw_ece", "CW-ECE", "ece", "class-wise"),
        Measure("top_brier", "Brier, top label", "brier", "top-label", needs=("confidence",)),
        Measure("top_log_loss", "Log loss, top label", "log_loss", "top-label", needs=("confidence",)),
        Measure("brier", "Brier", "brier", None, needs=_WHOLE),
        Measure("log_loss", "Log loss", "log_loss", None, needs=_WHOLE),
        Measure("ece", "ECE of P(Y = 1)", "ece", "class-wise", needs=("event",)),
        Measure("mce", "MCE of P(Y = 1)", "mce", "class-wise", needs=("event",)),
        Measure("conf_mce", "conf-MCE", "mce", "confidence", listed=False),
    )
}

#: The meaning of each, in one sentence.
_ABOUT = {
    "accuracy": "Share of rows whose predicted class is right.",
    "auc": "Chance that P(Y = 1) is higher for a row with Y = 1 than for one with Y = 0.",
    "cw_auc": "Mean over classes of the AUC of each class's score; classes that are never true are left out.",
    "top_auc": "Chance that a row with the right predicted class has a higher confidence than a wrong row; "
    "not comparable with an AUC of P(Y = 1).",
    "conf_ece": "Mean gap between confidence and accuracy, all classes pooled.",
    "tl_ece": "The same gap for each predicted class separately: the error for a user who is told the class.",
    "tl_mce_cell": "Largest gap of a (predicted class, bin) cell: the definition.",
    "tl_mce_bin": "Largest gap of a bin, averaged over predicted classes, as in the paper's tables.",
    "cw_ece": "Mean over classes of the gap of each class's score, whether or not it is the highest.",
    "top_brier": "Squared error of the event that the predicted class is right; comparable across all "
    "methods.",
    "top_log_loss": "Log loss (nats) of the event that the predicted class is right.",
    "brier": "Squared distance between the vector and the outcome.",
    "log_loss": "Log loss (nats) of the true class.",
    "ece": "Mean gap between P(Y = 1) and how often Y is 1.",
    "mce": "Largest gap of a bin of P(Y = 1).",
    "conf_mce": "Largest gap of a bin of confidence, classes pooled.",
}

#: The expected calibration error of each notion of several classes that has a name.
ECES: dict[str, Measure] = {
    notion: MEASURES[key]
    for notion, key in (("confidence", "conf_ece"), ("top-label", "tl_ece"), ("class-wise", "cw_ece"))
}


def ece_of(kind: Kind | str) -> dict[str, Measure]:
    """Return the expected calibration errors that apply to a kind of predictions, by key."""
    errors = [measure for measure in MEASURES.values() if measure.metric == "ece"]
    return {error.key: error for error in errors if error.missing(kind) is None}
