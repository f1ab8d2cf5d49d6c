"""Scripts that look into a program that stands still."""
from typing import Any
SCRIPTS: dict[str, Any] = {}
