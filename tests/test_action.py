"""The action of the repository: its steps, run as a workflow runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from calib import load
from tests import ROOT
from tests.answers.test_baseline import frame

ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")


def compare(tmp_path, predictions, baseline="", arguments="", state=""):
    """Run the step that compares, with this calib; return its exit code and the summary of the job."""
    program = tmp_path / "runner" / "calib" / "bin" / "calib"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m calib "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = textwrap.dedent(re.search(r"run: \|\n(.*)", ACTION, re.DOTALL)[1])
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    files = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output), "PYTHONPATH": str(ROOT)}
    inputs = {"PREDICTIONS": predictions, "BASELINE": baseline, "ARGUMENTS": arguments, "STATE": state}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={
            **os.environ,
            **files,
            **inputs,
            "RUNNER_TEMP": str(tmp_path / "runner"),
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        check=False,
    )
    assert output.read_text(encoding="utf-8").startswith("junit=")
    return done.returncode, summary.read_text(encoding="utf-8") if summary.exists() else done.stderr.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="the action's shell is bash")
def test_a_change_that_breaks_calibration_is_refused_with_a_readable_summary(tmp_path):
    frame().to_csv(tmp_path / "old.csv", index=False)
    frame(sharpen=3.0).to_csv(tmp_path / "new.csv", index=False)
    code, summary = compare(tmp_path, "new.csv", "old.csv")
    assert code == 1
    assert summary.startswith("### Calibration gate failed: 2 broken, 1 kept\n")
    assert "| **broken** | Brier no worse than the baseline |" in summary
    code, summary = compare(tmp_path, "new.csv", arguments="--max tl_ece=0.9\n  --min accuracy=0.99\n")
    assert code == 1
    assert "| kept | TL-ECE at most 0.9 | measured 0." in summary
    frame(sharpen=3.0).to_csv(tmp_path / "--help", index=False)
    frame().to_csv(tmp_path / "-o", index=False)
    code, summary = compare(tmp_path, "--help", "-o")
    assert code == 1
    assert summary.startswith("### Calibration gate failed: 2 broken, 1 kept\n")
    code, summary = compare(tmp_path, "lost.csv")
    assert code == 2
    assert "lost.csv" in summary


@pytest.mark.skipif(sys.platform == "win32", reason="the action's shell is bash")
def test_arguments_have_quotes_as_in_a_shell_and_a_state_is_watched(tmp_path):
    frame().assign(**{"scanner site": np.arange(len(frame())) % 2}).to_csv(
        tmp_path / "day 1.csv", index=False
    )
    arguments = '--max tl_ece=0.9\n --by "scanner site"'
    code, summary = compare(tmp_path, "day 1.csv", arguments=arguments)
    assert code == 0
    assert summary.startswith("### Calibration gate passed: 2 kept")
    code, message = compare(tmp_path / "other", "day 1.csv", arguments='--by "site')
    assert (code, "quotation mark" in message) == (2, True)
    watched = {"arguments": "--by 'scanner site' --notion confidence", "state": "-s.json"}
    code, summary = compare(tmp_path, "day 1.csv", **watched)
    assert code == 0
    assert "### Calibration over time\n\n    No alarm" in summary
    assert load(tmp_path / "-s.json").n_rows == len(frame())
    assert compare(tmp_path, "day 1.csv", **watched)[0] == 2


#: Stands for GitHub's command: one artifact of one run, in the folder `artifact`.
GH = """#!/bin/sh
case "$1 $2" in
  "api repos/me/model/actions/artifacts?name=calibration-state") [ ! -d artifact ] || echo 7 ;;
  "run download") [ "$3 $4 $5" = "7 --name calibration-state" ] && cp artifact/* . ;;
  *) exit 9 ;;
esac
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the action's shell is bash")
def test_the_workflow_of_the_docs_keeps_its_state_between_runs(tmp_path):
    page = (ROOT / "docs/how/over_time.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(
        r"^```yaml\n(# \.github/workflows/watch\.yml\n.*?)^```", page, re.DOTALL | re.MULTILINE
    )
    get_state = textwrap.dedent(re.search(r"run: \|\n(.*?)      - run:", workflow, re.DOTALL)[1])
    given = dict(
        re.findall(r"^          (predictions|state|arguments|name|path): (.*)", workflow, re.MULTILINE)
    )
    assert (given["name"], given["path"]) == ("calibration-state", given["state"])
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    paths = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "GITHUB_REPOSITORY": "me/model"}

    def run(day, run_id, further="", sharpen=1.0):
        """Run the steps in a folder of their own, as every run has, and keep the artifact."""
        folder = tmp_path / f"{run_id}{further}"
        folder.mkdir()
        if (tmp_path / "artifact").exists():
            (folder / "artifact").symlink_to(tmp_path / "artifact")
        step = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", get_state]
        subprocess.run(step, cwd=folder, env={**os.environ, **paths}, check=True)
        rows = frame(sharpen=sharpen).iloc[day * 200 : day * 200 + 200]
        rows.assign(**{"scanner site": "A 1"}).to_csv(folder / given["predictions"], index=False)
        arguments = given["arguments"].replace("${{ github.run_id }}", run_id) + further
        code, summary = compare(folder, given["predictions"], arguments=arguments, state=given["state"])
        (tmp_path / "artifact").mkdir(exist_ok=True)
        (folder / given["path"]).rename(tmp_path / "artifact" / given["path"])
        return code, summary, load(tmp_path / "artifact" / given["path"])

    assert run(0, "1")[2].n_rows == 200
    code, _, state = run(1, "2")
    assert (code, state.n_rows, state.batches) == (0, 400, ("run 1", "run 2"))
    code, summary, state = run(1, "2", " ")  # started again
    assert (code, state.n_rows, "nothing was added" in summary) == (0, 400, True)
    code, summary, _ = run(2, "3", sharpen=6.0)
    assert (code, "Alarm" in summary) == (1, True)
    code, _, state = run(3, "4", ' --acknowledge "-5 % weights"')
    assert (code, state.n_rows, [count.note for count in state.ended]) == (0, 200, ["-5 % weights"])


def test_every_input_of_the_action_is_used():
    for name in re.findall(r"^  (\w+):\n    description: .*\n    (?:required|default)", ACTION, re.MULTILINE):
        assert f"${{{{ inputs.{name} }}}}" in ACTION
