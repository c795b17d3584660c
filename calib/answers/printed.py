"""Tables as Markdown and LaTeX, with every text from outside escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], body: Iterable[Sequence[str]], n_names: int = 1) -> str:
    """Return a Markdown table whose first columns are names, aligned left, and the others numbers."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, *body]]
    lines.insert(1, "|" + "|".join([":--"] * n_names + ["--:"] * (len(head) - n_names)) + "|")
    return "\n".join(lines) + "\n"


def latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def latex_tabular(columns: str, lines: Iterable[str]) -> str:
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}"]) + "\n"


def escape_markdown(text: str) -> str:
    return "".join("\\" + sign if sign in "\\`*_{}[]<>()#+!|~$" else sign for sign in text.replace("\n", " "))


def escape_latex(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    signs |= {sign: "\\" + sign for sign in "&%$#_{}"}
    return "".join(signs.get(sign, sign) for sign in text.replace("\n", " "))
