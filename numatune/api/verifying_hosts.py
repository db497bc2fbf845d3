"""A second opinion on other hosts: each is captured in one round trip, then asked by testinfra over the same ssh."""

from __future__ import annotations

from dataclasses import replace

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numatune.api.planning import Request
    from numatune.capture.shared import Line
    from numatune.capture.way import Way
    from numatune.errors import NumatuneError
    from numatune.settings.plan import Plan


def verify_hosts(
    urls: Sequence[str], request: Request, *, junit: Path | None = None, may_ask: bool = False
) -> Mapping[str, Plan | NumatuneError]:
    """What each host holds of the profiles of a request, in the order of `urls`; or why it could not be asked.

    urls     ``ssh://[user@]host[:port]``; the user's own ssh configuration, keys and known hosts apply
    junit    a file for the checks' JUnit XML, of all hosts
    may_ask  ssh may ask on the terminal for a passphrase, or whether a host's key is the right one

    Nothing is installed on the hosts, and nothing of their applied sets and holds is known here. One that cannot be
    asked, or for which the profile is wrong, does not keep the others from being asked. Raises UsageError for a request
    without profiles or a wrong URL, ProfileError and TrustError for profiles that cannot be read: then none was asked.
    """
    import tempfile
    from pathlib import Path

    from numatune.api.planning import check_sections, load
    from numatune.capture import way
    from numatune.errors import NumatuneError, UsageError
    from numatune.verify import junit as files

    if not request.profiles:
        hint = "there, numatune verify compares with it"
        raise UsageError("--hosts", "needs a PROFILE: what is applied on another host is not known here", hint=hint)
    if not urls:
        raise UsageError("--hosts", "names no host", accepted="ssh://[USER@]HOST[:PORT], with commas between")
    ways = {url: way.over_ssh(url, "--hosts") for url in urls}
    check_sections(request)
    load(request.profiles, variables=request.variables).sound()
    told: dict[str, Plan | NumatuneError] = {}
    with tempfile.TemporaryDirectory(prefix="numatune-verify-") as name:
        parts = {url: Path(name, f"{number}.xml") for number, url in enumerate(ways)}
        for url, there in ways.items():
            try:
                told[url] = _verified(url, there, request, parts[url] if junit else None, may_ask=may_ask)
            except NumatuneError as error:
                told[url] = error
        if junit is not None:
            files.put(junit, {url: parts[url] if parts[url].exists() else str(told[url]) for url in ways})
    return told


def _verified(url: str, way: Way, request: Request, junit: Path | None, *, may_ask: bool) -> Plan:
    """One host. Raises NumatuneError."""
    import tempfile

    from numatune.api.capturing import capture_by
    from numatune.api.hosts import open_reader
    from numatune.api.memory import Memory
    from numatune.api.verifying import compared, of_profiles
    from numatune.capture.shared import shared
    from numatune.verify.remote import Remote

    with shared(way, may_ask=may_ask) as line, tempfile.TemporaryDirectory(prefix="numatune-verify-") as name:
        reader = open_reader(capture_by(line.way, f"{name}/host.tar").path)
        asked = of_profiles(reader, request)
        try:
            said = compared(asked, request, reader, Memory(), junit=junit, remote=Remote(url, line.socket))
        except RuntimeError as error:
            _need(line, url, error)
            raise
        _need(line, url)
        return replace(said, host=replace(said.host, root=url))


def _need(line: Line, url: str, cause: Exception | None = None) -> None:
    """Raises HostError when the connection is gone: then nobody knows what the last answers are worth."""
    from numatune.errors import HostError

    if not line.is_open():
        raise HostError(url, "the connection was lost while it was asked", hint="try again") from cause
