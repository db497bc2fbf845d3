"""A drop-in of systemd for a service (systemd.resource-control(5), systemd.exec(5)).

AllowedCPUs and AllowedMemoryNodes are cpusets of cgroup v2; CPUAffinity holds on v1 too. systemd knows neither
preferred-many nor weighted interleave: the nearest that it knows is taken, and said.
"""

from __future__ import annotations

from numatune.export.launch.job import Job

_NEAREST = {"preferred-many": "local", "weighted-interleave": "interleave"}


def systemd(job: Job) -> str:
    """The file of a service's .d folder."""
    memory = job.whole.memory
    lines = ["[Service]"]
    if job.whole.bound:
        lines += [f"CPUAffinity={job.whole.cpus}", f"AllowedCPUs={job.whole.cpus}"]
    lines += [f"AllowedMemoryNodes={job.mems}"] if job.mems else []
    if memory.mode != "none":
        policy = _NEAREST.get(memory.mode, memory.mode)
        lines += [f"# {memory.mode} is none of systemd's"] if policy != memory.mode else []
        lines += [f"NUMAPolicy={policy}"]
        lines += [f"NUMAMask={memory.nodes}"] if policy not in {"local", "default"} else []
    lines += [f"TemporaryFileSystem=/dev/shm:{job.mpol}"] if job.mpol else []
    lines += [f"Environment={quoted(f'{name}={text}')}" for name, text in job.whole.env.items()]
    return "".join(f"{line}\n" for line in lines)


def quoted(text: str) -> str:
    """As one word of a unit's file: quotes, and % for its specifiers (systemd.syntax(7))."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return f'"{escaped}"'
