"""What an engine is told so that the workers it starts itself come to be where they belong.

Facts: each engine's own option parser and documentation, as noted beside it. What would bind memory hard, or fail where
a node is not known, is only said by name (``--engine vllm``); what the caller has written is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from numatune.launch.engines.installed import Installed
from numatune.launch.engines.recognise import places_its_own
from numatune.launch.model import Placement
from numatune.launch.policy import Policy
from numatune.launch.step import Step


@dataclass(frozen=True, slots=True)
class Told:
    """Words put into the command before position `at` (None: at its end), variables, and why."""

    words: tuple[str, ...] = ()
    at: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    def command(self, command: Sequence[str]) -> list[str]:
        """The command with the words in it."""
        at = len(command) if self.at is None else self.at
        return [*command[:at], *self.words, *command[at:]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is started.

    named    the engine was asked for by name
    workers  where a worker of each visible device belongs; () for a process that is one rank's own
    numactl  whether there is one
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    installed: Installed
    policy: Policy
    workers: tuple[Placement, ...]
    named: bool
    numactl: bool

    @property
    def nodes(self) -> list[str] | None:
        """The workers' nodes; None unless all are known."""
        nodes = [one.node for one in self.workers]
        return [str(node) for node in nodes if node is not None] if nodes and None not in nodes else None

    def has(self, *options: str) -> bool:
        """Whether the command has one of these options already."""
        return any(word.partition("=")[0] in options for word in self.command)


def tell(engine: str, start: Start) -> Told:
    """What the engine is to be told; nothing but steps where nothing can be."""
    return _ENGINES[engine](start)


def _vllm(start: Start) -> Told:
    """vLLM: --numa-bind with one node, or one list, for each visible device (vllm/engine/arg_utils.py).

    It needs numactl and workers that are spawned, refuses to find nodes inside a cpuset, and binds memory hard.
    """
    if not start.workers or start.has("--numa-bind", "--numa-bind-nodes", "--numa-bind-cpus"):
        return _left("vllm", start, "--numa-bind")
    if not start.installed.says("vllm/engine/arg_utils.py", "--numa-bind-nodes"):
        return _said("vllm", f"this vLLM ({_version(start, 'vllm')}) has no --numa-bind")
    if not (start.named or start.policy.memory == "bind"):
        return _said("vllm", "workers move within the whole; --engine vllm adds --numa-bind, which binds memory hard")
    method = start.environment.get("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    if hindrance := _hindrance(start) or ("" if method == "spawn" else f"VLLM_WORKER_MULTIPROC_METHOD={method}"):
        return _void("vllm", "--numa-bind not added", hindrance)
    words = ["--numa-bind", "--numa-bind-nodes", *(start.nodes or ())]
    if start.policy.cpu not in {"node", "none"}:
        words += ["--numa-bind-cpus", *(str(one.cpus) for one in start.workers)]
    env = {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}
    step = Step("vllm", " ".join(words), "a node for each visible device; vLLM binds its workers' memory hard")
    return Told(tuple(words), None, env, (step,))


def _hindrance(start: Start) -> str:
    """Why binding through numactl would fail or lead nowhere."""
    if start.nodes is None:
        return "not every device's node is known"
    return "" if start.numactl else "it needs numactl, and there is none"


def _sglang(start: Start) -> Told:
    """SGLang: --numa-node with one node for each worker goes before its own finding (sglang/srt/server_args.py)."""
    steps = []
    if start.environment.get("SGLANG_SET_CPU_AFFINITY", "0").lower() in {"1", "true"}:
        reason = "SGLANG_SET_CPU_AFFINITY counts the machine's cores, not what is allowed here; unset it"
        steps.append(Step("sglang", "may fail", reason, warns=True))
    if not start.workers or start.has("--numa-node"):
        return Told(steps=(*steps, *_left("sglang", start, "--numa-node").steps))
    if not start.installed.says("sglang/srt/server_args.py", "--numa-node"):
        reason = f"this SGLang ({_version(start, 'sglang')}) has no --numa-node"
        return Told(steps=(*steps, Step("sglang", "workers move within the whole", reason)))
    if start.nodes is None or start.policy.cpu == "none":
        reason = "not every device's node is known" if start.nodes is None else "cpu: none leaves CPUs as they are"
        return Told(steps=(*steps, Step("sglang", "left to itself", reason)))
    words = ("--numa-node", *start.nodes)
    return Told(words, None, {}, (*steps, Step("sglang", " ".join(words), "a node for each visible device")))


def _trtllm(start: Start) -> Told:
    """TensorRT-LLM: unset, TLLM_NUMA_AWARE_WORKER_AFFINITY takes an affinity away that was given from outside.

    0 leaves it alone, 1 places each worker by its device (deployment-guide/configuring-cpu-affinity.md).
    """
    wanted = "1" if len(start.workers) > 1 else "0"
    reason = "each worker by its device" if wanted == "1" else "unset, it would take this affinity away"
    name = "TLLM_NUMA_AWARE_WORKER_AFFINITY"
    if name in start.environment:
        return _said("trtllm", f"{name}={start.environment[name]} left alone: the caller has set it")
    return Told((), None, {name: wanted}, (Step("trtllm", f"{name}={wanted}", reason),))


def _lightllm(start: Start) -> Told:
    """LightLLM: the CPU cache of keys and values is interleaved when it is told so (pull request 1399)."""
    name = "LIGHTLLM_ENABLE_NUMA_INTERLEAVE"
    if not (start.named or start.policy.memory in {"interleave", "weighted-interleave"}):
        return _said("lightllm", f"--engine lightllm sets {name}=1, for its cache in host memory")
    if name in start.environment:
        return _said("lightllm", f"{name} left alone: the caller has set it")
    return Told((), None, {name: "1"}, (Step("lightllm", f"{name}=1", "its cache in host memory over all nodes"),))


def _torchrun(start: Start) -> Told:
    """torchrun: --numa-binding (torch/distributed/run.py) takes a device without a node for one at node 0."""
    if places_its_own(start.command) or not start.workers or start.has("--numa-binding", "--numa_binding"):
        return _left("torchrun", start, "--numa-binding")
    better = "put numatune before the script: torchrun ... numatune run -- python SCRIPT"
    if not start.named:
        return _said("torchrun", f"workers are not placed one by one; {better}")
    if not start.installed.says("torch/distributed/run.py", "--numa-binding"):
        return _void(
            "torchrun", "--numa-binding not added", f"this torch ({_version(start, 'torch')}) has none; {better}"
        )
    if hindrance := _hindrance(start):
        return _void("torchrun", "--numa-binding not added", f"{hindrance}; {better}")
    modes = {"exclusive": "exclusive", "socket": "socket", "l3": "core-complex"}
    words = (f"--numa-binding={modes.get(start.policy.cpu, 'node')}",)
    return Told(words, _first_option(start.command), {}, (Step("torchrun", words[0], f"its own; or {better}"),))


def _deepspeed(start: Start) -> Told:
    """DeepSpeed: --bind_cores_to_rank gives out equal slices of physical cores, whatever device a rank drives."""
    if places_its_own(start.command) or start.has("--bind_cores_to_rank"):
        return _left("deepspeed", start, "--bind_cores_to_rank")
    reason = "its own --bind_cores_to_rank does not look at devices; let each rank call numatune run"
    return _said("deepspeed", f"workers are not placed one by one: {reason}")


def _first_option(command: Sequence[str]) -> int:
    """Where options of the launcher itself begin: after its program, or after ``-m MODULE``."""
    return command.index("-m") + 2 if "-m" in command[:4] else 1


def _left(engine: str, start: Start, option: str) -> Told:
    """Nothing to add: a rank of its own, or the caller has said it."""
    reason = f"{option} is the caller's" if start.has(option) else "one rank: nothing to spread"
    return _said(engine, reason)


def _said(engine: str, reason: str) -> Told:
    return Told(steps=(Step(engine, "nothing added", reason),))


def _void(engine: str, result: str, reason: str) -> Told:
    return Told(steps=(Step(engine, result, reason, warns=True),))


def _version(start: Start, package: str) -> str:
    return start.installed.version(package) or "not found beside that Python"


_ENGINES: Mapping[str, Callable[[Start], Told]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "trtllm": _trtllm,
    "lightllm": _lightllm,
    "torchrun": _torchrun,
    "deepspeed": _deepspeed,
}
