"""What axe-core finds on a page, less what Streamlit itself causes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from playwright.sync_api import Page

#: Findings that calib cannot cure: rule, the elements of Streamlit it is about, and why it is found there.
STREAMLIT = [
    ("list", "[data-testid=stSidebarNavItems]", "the list of pages has a div per section"),
    ("listitem", "[data-testid=stSidebarNavItems] li", "so its items are not children of the list"),
    ("scrollable-region-focusable", ".katex-display", "a formula may scroll and takes no focus"),
    ("presentation-role-conflict", "[data-testid=stFileUploaderDropzone]", "it has a role and a label"),
]

FINDINGS = """async ([known, rules]) => {
    const options = { resultTypes: ["violations"], elementRef: true };
    if (rules !== null) options.runOnly = { type: "rule", values: rules };
    const { violations } = await axe.run({ exclude: [".katex"] }, options);
    return violations.flatMap(({ id, nodes }) => nodes
        .filter(({ element }) => !known.some(([rule, which]) => rule === id && element.matches(which)))
        .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));
}"""


@cache
def axe() -> str:
    """The script of axe-core."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def findings(page: Page, rules: list[str] | None = None) -> list[str]:
    """Findings of all rules, or of these; formulas are KaTeX's, in thousands of elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    return page.evaluate(FINDINGS, [[entry[:2] for entry in STREAMLIT], rules])
