"""The options of engines that bind their own workers; see numatune/launch/engines for what makes them void."""

from __future__ import annotations

from numatune.errors import LaunchError
from numatune.export.launch.job import Job

_TORCH = {"exclusive": "exclusive", "socket": "socket", "l3": "core-complex"}


def vllm(job: Job) -> str:
    """vLLM: a node for each visible device; lists where shares are not whole nodes. It binds memory hard."""
    words = ["--numa-bind", "--numa-bind-nodes", *_nodes(job)]
    if job.policy.cpu not in {"node", "none"}:
        words += ["--numa-bind-cpus", *(str(one.cpus) for one in job.ranks)]
    return f"{' '.join(words)}\n"


def sglang(job: Job) -> str:
    """SGLang: a node for each worker."""
    return f"--numa-node {' '.join(_nodes(job))}\n"


def torchrun(job: Job) -> str:
    """By numatune, before the script; torchrun's own option goes by nodes alone."""
    count = len(job.ranks)
    own = _TORCH.get(job.policy.cpu, "node")
    return (
        f"torchrun --nproc-per-node={count} --no-python numatune run -- python SCRIPT\n"
        f"# or its own: torchrun --nproc-per-node={count} --numa-binding={own} SCRIPT\n"
    )


def _nodes(job: Job) -> list[str]:
    """Raises LaunchError when one is not known: a list has one for each."""
    lost = [str(place) for place, one in enumerate(job.ranks) if one.node is None]
    if lost:
        raise LaunchError(
            "node", f"nobody knows the node of rank {', '.join(lost)}", hint="`devices:` in the profile tells it"
        )
    return [str(one.node) for one in job.ranks]
