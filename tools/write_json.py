"""Writes docs/reference/check.schema.json from the type of a result: `python tools/write_json.py`."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from twinrun.result import SCHEMA, CheckResult

FILE = Path(__file__).parent.parent / "docs" / "reference" / "check.schema.json"


def page() -> str:
    """The JSON Schema of the document that `twinrun check --output-format json` prints."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": SCHEMA,
        **msgspec.json.schema(CheckResult),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
