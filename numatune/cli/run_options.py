"""The command line of `run`, read without argparse: it stands before every start of a server.

Everything from CMD on is the command's own, whether ``--`` stands before it or not.
"""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numatune.cpus import CpuSet

POLICY: dict[str, tuple[str, str, str]] = {
    "--cpu": ("cpu", "MODE", "node (default), exclusive, l3, socket, list, none"),
    "--smt": ("smt", "WORD", "keep both threads of a core, or drop the second"),
    "--reserve-cores": ("reserve_cores", "N", "first cores of each node that are left to the system"),
    "--memory": (
        "memory",
        "MODE",
        "preferred (default), preferred-many, bind, local, interleave, weighted-interleave, none",
    ),
    "--memory-nodes": ("memory_nodes", "LIST", "where memory goes, instead of to the device's node"),
    "--fallback": ("fallback", "WORD,...", "what to try when memory is refused; cpu-only, none"),
    "--on-unknown": ("on_unknown", "WORD", "a device whose node nobody knows: warn (default) or fail"),
    "--env": ("env", "NAME=VALUE", "set it unless it is set; `cores` and `cpus` are counts"),
    "--cgroup": ("cgroup", "PATH", "join this control group first"),
    "--shm": ("shm", "WORD", "new files of /dev/shm, in a container: keep (default), interleave, interleave:NODES"),
    "--thp": ("thp", "WORD", "transparent hugepages: keep (default), madvise, never"),
}
"""Options that are words of a policy."""

SWITCHES: dict[str, tuple[str, str]] = {
    "--strict": ("strict", "nothing but what is asked for: else exit 125"),
    "--widen": ("widen", "start from the CPUs of the cpuset, not from the inherited affinity"),
    "--nics": ("nics", "tell NCCL and UCX the nearest adapters"),
}
"""Options without a value that are ``yes`` in a policy."""

VALUES: dict[str, tuple[str, str]] = {
    "--profile": ("PROFILE", "take `launch:` of this profile, instead of what is applied here"),
    "--var": ("NAME=VALUE", "set a variable of the profile"),
    "--rank": ("N", "the local rank, instead of the launcher's"),
    "--local-size": ("N", "how many ranks there are on this host"),
    "--device": ("X", "the device: address, UUID, or index of a visible one"),
    "--engine": ("NAME", "vllm, sglang, trtllm, lightllm, torchrun, deepspeed, none; default: by CMD"),
    "--root": ("DIR|TAR", "with --print: look at this captured host"),
    "--allowed-cpus": ("LIST", "with --print: instead of this process's affinity"),
    "--allowed-mems": ("LIST", "with --print: instead of this process's cpuset"),
}
"""Options with a value of their own; --profile and --var may come again."""

LISTS: dict[str, tuple[str, str]] = {
    "--nodes": ("N ...", "the node of each rank: the first is rank 0's"),
    "--cpus": ("LIST ...", "the CPUs of each rank"),
}
"""Options with a word for each rank, as vLLM's --numa-bind-nodes and --numa-bind-cpus have them."""

FLAGS: dict[str, str] = {
    "--print": "print the placement and start nothing",
    "--explain": "print every step on stderr, then start",
    "--quiet": "print nothing on stderr",
    "--json": "print as JSON",
    "--no-color": "print without colour",
    "--verbose": "one line for the placement, on stderr",
    "--help": "this text",
}
"""Options without a value."""

_SHORT = {"-v": "--verbose", "-h": "--help"}


class Asked:
    """What the words before CMD say. `words`: of a policy, in their order."""

    def __init__(self) -> None:
        self.command: list[str] = []
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.lists: dict[str, list[str]] = {}
        self.words: list[tuple[str, str]] = []

    def value(self, name: str) -> str | None:
        """The last value of an option."""
        return self.values[name][-1] if name in self.values else None

    def number(self, name: str) -> int | None:
        """The same as a whole number. Raises UsageError."""
        text = self.value(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise wrong(name, f"{text!r} is no number", "0, 1, ...")
        return int(text)

    def set(self, name: str) -> CpuSet | None:
        """The same as a set. Raises UsageError."""
        text = self.value(name)
        if text is None:
            return None
        from numatune.cpus import CpuSet

        try:
            return CpuSet.parse(text)
        except ValueError as error:
            raise wrong(name, str(error), "a list like 0-3,8") from error


def read(argv: Sequence[str]) -> Asked:
    """The words after and before ``run``. Raises UsageError."""
    asked, words = Asked(), list(argv)
    seen_run = False
    while words:
        word = words.pop(0)
        if word == "--":
            asked.command = words
            break
        if not word.startswith("-") and not seen_run:
            seen_run = True  # the command's own name: run
            continue
        if not word.startswith("-") or word == "-":
            asked.command = [word, *words]
            break
        _take(asked, word, words)
    return asked


def _take(asked: Asked, word: str, words: list[str]) -> None:
    name, equals, text = word.partition("=")
    name = _SHORT.get(name, name)
    if name in FLAGS and not equals:
        asked.flags.add(name)
    elif name in SWITCHES and not equals:
        asked.words.append((SWITCHES[name][0], "yes"))
    elif name in POLICY:
        asked.words.append((POLICY[name][0], text if equals else _next(name, words)))
    elif name in VALUES:
        asked.values.setdefault(name, []).append(text if equals else _next(name, words))
    elif name in LISTS:
        found = text.split() if equals else []
        while not equals and words and not words[0].startswith("-"):
            found += words.pop(0).split()
        if not found:
            raise wrong(name, "needs a word for each rank", LISTS[name][0])
        asked.lists[name] = found
    else:
        from numatune.errors import did_you_mean

        known = (*POLICY, *SWITCHES, *VALUES, *LISTS, *FLAGS)
        raise wrong(word, "no option of run", hint=did_you_mean(name, known))


def _next(name: str, words: list[str]) -> str:
    if not words or words[0] == "--":
        raise wrong(name, "needs a value")
    return words.pop(0)


def wrong(where: str, found: str, accepted: str = "", hint: str = "") -> Exception:
    """A UsageError, which only who raises one imports."""
    from numatune.errors import UsageError

    return UsageError(where, found, accepted=accepted, hint=hint or "numatune run --help")
