"""`benchmark_results.json`: the report's own structure, its schema, and the way back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wm_core.errors import StoreError
from wm_core.specs import RunReport, Spec

SCHEMA_ID = "urn:wmbench:schema:report:1"


def to_json(report: Spec) -> str:
    """The report as JSON text, numbers in full. `StoreError` where one is not finite: JSON has no such number."""
    value = report.model_dump(mode="json")
    require_finite(value)
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def require_finite(value: Any, what: str = "the report") -> None:
    """`StoreError` that names the first number of a dumped model that is not finite."""
    for place, found in _numbers(value, ""):
        if not math.isfinite(found):
            raise StoreError(
                f"{place} of {what} is {found}, expected a finite number; "
                "find the episodes behind it in episodes.jsonl and measure them again"
            )


def report_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of `benchmark_results.json`."""
    schema = RunReport.model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID}
    return head | schema | {"title": "wmbench report"}


def read_report(path: Path) -> RunReport:
    """The report in a `benchmark_results.json`; `StoreError` when there is none or it is not one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else "it is not text") or str(error)
        raise StoreError(
            f"cannot read {path}: {why}; expected a benchmark_results.json, as `wmbench run` writes it"
        ) from error
    try:
        report = RunReport.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file as a whole"
        raise StoreError(
            f"{path} is not a report of this version of wmbench: {where}: {first['msg']}; "
            "write it again with `wmbench report` on its run directory"
        ) from error
    require_finite(report.model_dump(), str(path))
    return report


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{place}[{number}]")
