"""One line to syslog for each run, and for each repair."""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.settings.journal import RunStart


def run(start: RunStart, result: str) -> None:
    """``apply run 12 by alice: llm-inference 2026.11.1 (3f9a01c2): 14 changed; because of ticket 7``."""
    profiles = ", ".join(f"{info.name} {info.version} ({info.hash[:8]})" for info in start.profiles)
    about = f": {profiles}" if profiles else ""
    undoes = f" of {', '.join(map(str, start.undoes))}" if start.undoes else ""
    why = f"; why: {start.why}" if start.why else ""
    line(f"{start.kind}{undoes}, run {start.run}, by {start.who}{about}: {result}{why}")


def line(text: str) -> None:
    """Control characters could forge a second line: they become question marks."""
    import syslog

    syslog.openlog("numatune", syslog.LOG_PID, syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_NOTICE, "".join(char if char.isprintable() else "?" for char in text))
    syslog.closelog()
