"""Plain text as LaTeX: every special character escaped, nothing that pdfLaTeX has no glyph for."""

from __future__ import annotations

import re
import unicodedata

from wm_core.reporting.formatting import codepoint, one_line

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "†": r"$\dagger$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
}
_LIGATURE = re.compile(r"([-',`?!])(?=[-',`])")


def escape(text: str) -> str:
    """`text` on one line for running text, a caption or a table; unknown characters become `<U+XXXX>`.

    Brackets and stars are put in braces, since `\\\\` before them would take them for its own; characters that
    together would become another one, like two hyphens, are kept apart.
    """
    return "".join(map(_character, _LIGATURE.sub("\\1\0", one_line(text)))).replace("\0", "{}")


def mathematics(text: str) -> str:
    """A text of numbers in mathematics, so that minus signs are minus signs."""
    body = text.replace("±", r"\pm").replace("—", r"\mbox{\textemdash}")
    body = re.sub(r"e([+-])0*(\d+)", lambda m: rf"\times 10^{{{m[1].strip('+')}{m[2]}}}", body)
    body = re.sub(r" (?=[\[(])", r"\\ ", body)
    return f"${body}$" if body else ""


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == "\0" or character.isascii() or _in_latin_fonts(character):
        return character
    return "".join(_ESCAPES.get(c, c) for c in codepoint(character))


def _in_latin_fonts(character: str) -> bool:
    return "À" <= character <= "ÿ" and unicodedata.category(character).startswith("L") and character not in "ÐÞðþ"
