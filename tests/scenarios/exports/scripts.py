"""Scripts with which several exports are tested, and their logs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tui.cli import main

TWO_TRANSACTIONS: Final = """
  - init-transactions: {topic: orders, transactional-id: pay, producer: pay}
  - wait: 2s
  - begin-transaction: {producer: pay}
  - produce: {topic: orders, records: 2, producer: pay}
  - wait: 1s
  - commit-transaction: {producer: pay}
  - wait: 1s
  - begin-transaction: {producer: pay}
  - produce: {topic: orders, records: 3, producer: pay}
  - wait: 1s
  - abort-transaction: {producer: pay}
  - wait: 2s
"""
"""The acts of a producer that commits a transaction of 2 records and aborts one of 3."""


def log_of(script: str, folder: Path) -> str:
    """Run a script, and return the path of its log."""
    (folder / "script.yaml").write_text(script, encoding="utf-8")
    path = str(folder / "script.jsonl")
    assert main(["run", str(folder / "script.yaml"), "--log", path]) == 0
    return path
