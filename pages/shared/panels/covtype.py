"""The real COVTYPE data on the Study pages: a job that can be stopped."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import streamlit as st

from calib import InputError
from calib.datasets import Example, covtype
from pages.shared.isolation.reader import read_covtype
from pages.shared.session import as_dataset, dataset, use
from pages.shared.uploads import logged
from pages.shared.widgets import escaped, literal

#: By model: title of the panel, its text, and the label of its button.
TEXTS = {
    "forest": (
        "The real data: COVTYPE, random forest",
        "Class 2 is about 100 times as frequent as class 4. A forest on the real data (581,012 rows) takes a "
        "few minutes to train.",
        "Fetch the real data and train a forest",
    ),
    "logistic": (
        "The paper's experiment: COVTYPE with three classes, logistic regression",
        "Classes 1, 2 and other; 70:30 split, 10 % of the training rows for calibration (Appendix G). "
        "scikit-learn downloads the real data once (581,012 rows).",
        "Fetch the real data and fit the regression",
    ),
}


class Stopped(Exception):
    """Raised in a job that a user has stopped."""


@dataclass
class Training:
    """Training of a COVTYPE model in its own thread; the page only reads its attributes."""

    source: bytes | None  #: The uploaded file, or None to fetch the data
    model: str  #: "forest" or "logistic"
    #: Share of the work that is done, and the current step
    progress: float = 0.0
    step: str = "Starting"
    result: Example | None = None  #: The predictions; None until they are ready
    error: str = ""  #: Why there are no predictions
    stop: threading.Event = field(default_factory=threading.Event)  #: Set to end the job
    thread: threading.Thread | None = None

    def start(self) -> None:
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    @property
    def running(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    @staticmethod
    def _uploaded(source: bytes) -> tuple[np.ndarray, np.ndarray]:
        with logged(len(source)):
            return read_covtype(source)

    def _report(self, progress: float, step: str) -> None:
        self.progress, self.step = progress, step
        if self.stop.is_set():
            raise Stopped

    def _work(self) -> None:
        # Predictions of an upload are saved nowhere; predictions of the public data are cached on disk.
        try:
            self.result = covtype(
                None if self.source is None else self._uploaded(self.source),
                model=self.model,
                cache=self.source is None,
                progress=self._report,
            )
        except Stopped:
            self.error = "Stopped. Nothing was changed."
        except InputError as error:
            self.error = str(error)
        finally:
            self.source = None


def covtype_panel(model: str = "forest") -> None:
    """Offer COVTYPE, simulated or real; the present data stay until the new predictions are ready."""
    job: Training | None = st.session_state.get("covtype-job")
    title, text, fetch = TEXTS[model]
    with st.expander(title, expanded=job is not None):
        if job is not None:
            _follow()
            return
        st.markdown(text)
        st.button(fetch, on_click=_begin, args=(model, False))
        st.file_uploader(
            "Or upload covtype.data, covtype.data.gz or the data as CSV",
            type=["data", "gz", "csv"],
            key="covtype-file",
            on_change=_begin,
            args=(model, True),
        )


def _may_replace(title: str) -> bool:
    """Return whether the data on screen may be replaced: a user's own only if the user agrees."""
    shown = dataset()
    if shown.example is not None:
        return True
    st.markdown(f"{title} is ready. Your data {literal(shown.name)} are still on screen.")
    with st.container(horizontal=True):
        wanted = st.button("Show it instead", help="The button in the sidebar brings your data back.")
        if st.button("Keep mine"):
            del st.session_state["covtype-job"]
            st.rerun()
    return wanted


def _begin(model: str, uploaded: bool) -> None:
    file = st.session_state.get("covtype-file") if uploaded else None
    if uploaded and file is None:
        return
    job = Training(file.getvalue() if file is not None else None, model)
    st.session_state["covtype-job"] = job
    job.start()


@st.fragment(run_every=0.5)
def _follow() -> None:
    job: Training = st.session_state["covtype-job"]
    if job.running:
        st.progress(job.progress, job.step)
        st.button("Stop", on_click=job.stop.set, icon=":material/stop_circle:", disabled=job.stop.is_set())
    elif job.result is not None and _may_replace(job.result.title):
        del st.session_state["covtype-job"]
        use(as_dataset(job.result))
        st.rerun()
    elif job.result is not None:
        return
    else:
        st.error(
            escaped(job.error) if job.error else "The job ended without a result. The server log says why."
        )
        if st.button("Close"):
            del st.session_state["covtype-job"]
            st.rerun()
