"""Ansible's output as one JSON object a line: every result, and what is said at the end."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: rows
type: stdout
short_description: One JSON object a line
description: For the tests.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "rows"

    def _row(self, status: str, result: Any) -> None:
        told = {key: value for key, value in result._result.items() if key != "invocation"}  # noqa: SLF001  # all callbacks do
        task = result._task.get_name().rpartition(" : ")[2]  # noqa: SLF001
        row = {"task": task, "host": result._host.get_name(), "status": status, "result": told}  # noqa: SLF001
        self._display.display(json.dumps(row, default=str))

    def v2_runner_on_ok(self, result: Any) -> None:
        self._row("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002  # as Ansible calls it
        self._row("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._row("unreachable", result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        told = {host: stats.summarize(host) for host in stats.processed}
        self._display.display(json.dumps({"task": "", "host": "", "status": "stats", "result": told}))
