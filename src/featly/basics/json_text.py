"""JSON that any parser reads."""

import json
import math
from typing import Any

__all__ = ["as_json"]


def as_json(document: Any) -> str:
    """Return JSON text that any parser reads: NaN and infinity are null."""
    return json.dumps(_to_plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _to_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
