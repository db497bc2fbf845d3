"""Options of docker run, a service of compose, a quadlet of podman.

docker/cli: --cpuset-cpus, --cpuset-mems, --gpus, --tmpfs with mpol= (moby's mount flags). Its default seccomp profile
lets memory policies through only with CAP_SYS_NICE. The Compose specification has `cpuset`, but no key for nodes.
podman takes few options of a tmpfs, and not mpol= (pkg/util/mount_opts.go); a volume's are mount(8)'s own.
"""

from __future__ import annotations

import json
import shlex

from numatune.export.launch.job import Job
from numatune.export.launch.units import quoted
from numatune.launch.visible import AMD, NVIDIA


def docker(job: Job) -> str:
    """Options for docker run, one a line, quoted for a shell, to be put before the image."""
    options = [f"--cpuset-cpus={job.whole.cpus}"] if job.whole.bound else []
    options += [f"--cpuset-mems={job.mems}"] if job.mems else []
    options += ["--cap-add=SYS_NICE", *_devices(job)]
    options += [f"--env={name}={text}" for name, text in job.whole.env.items()]
    options += [f"--tmpfs=/dev/shm:rw,{job.mpol}"] if job.mpol else []
    return "".join([*(f"{shlex.quote(option)}\n" for option in options), *_unknown(job)])


def _devices(job: Job) -> list[str]:
    names = job.device_names
    if not names:
        return []
    if job.vendor == NVIDIA:
        return [f'--gpus="device={",".join(names)}"']
    kfd = ["--device=/dev/kfd"] if job.vendor == AMD else []
    return [*kfd, *(f"--device=/dev/dri/{job.render[one]}" for one in job.whole.devices if one in job.render)]


def _unknown(job: Job) -> list[str]:
    """A comment where devices are driven by render nodes of which none is known: in a capture they may not be named."""
    lost = [one for one in job.whole.devices if one not in job.render]
    if job.vendor != AMD or not lost:
        return []
    said = f"no /dev/dri/renderD* is known of {', '.join(lost)}: add that of each (ls -l /dev/dri/by-path there)"
    return [f"# {said}\n"]


def compose(job: Job) -> str:
    """A service to be merged into a compose file. Memory nodes are for `numatune run` inside, which cap_add allows."""
    lines = ["services:", "  server:"]
    lines += [f'    cpuset: "{job.whole.cpus}"'] if job.whole.bound else []
    lines += ["    cap_add: [SYS_NICE]"]
    lines += (
        ["    environment:", *(f"      {name}: {_in_compose(text)}" for name, text in job.whole.env.items())]
        if job.whole.env
        else []
    )
    lines += [f'    tmpfs: ["/dev/shm:rw,{job.mpol}"]'] if job.mpol else []
    names = job.device_names
    if names and job.vendor == NVIDIA:
        listed = ", ".join(f'"{name}"' for name in names)
        lines += ["    deploy:", "      resources:", "        reservations:", "          devices:"]
        lines += ["            - driver: nvidia", f"              device_ids: [{listed}]"]
        lines += ["              capabilities: [gpu]"]
    elif names:
        lines += ["    devices:", *(f"      - {one.removeprefix('--device=')}" for one in _devices(job))]
    return "".join([*(f"{line}\n" for line in lines), *_unknown(job)])


def _in_compose(text: str) -> str:
    """A string of YAML, which takes JSON's; a $ is doubled, or compose would put in what its own variable holds."""
    return json.dumps(text.replace("$", "$$"), ensure_ascii=False)


def quadlet(job: Job) -> str:
    """The section [Container] of a podman quadlet (podman-systemd.unit(5))."""
    lines = ["[Container]"]
    cpus = [f"--cpuset-cpus={job.whole.cpus}"] if job.whole.bound else []
    mems = [f"--cpuset-mems={job.mems}"] if job.mems else []
    lines += [f"PodmanArgs={option}" for option in (*cpus, *mems)]
    lines += ["AddCapability=CAP_SYS_NICE"]
    if job.vendor == NVIDIA:
        lines += [f"AddDevice=nvidia.com/gpu={name}" for name in job.device_names]
    else:
        lines += [f"AddDevice={one.removeprefix('--device=')}" for one in _devices(job)]
    # podman puts them into a command line of systemd, which doubles a $ to mean one
    envs = (f"{name}={text}".replace("$", "$$") for name, text in job.whole.env.items())
    lines += [f"Environment={quoted(one)}" for one in envs]
    if job.mpol:
        lines += ["Volume=server-shm.volume:/dev/shm", "# and beside it, as server-shm.volume:"]
        lines += ["# [Volume]", "# Type=tmpfs", "# Device=tmpfs", f"# Options={job.mpol},mode=1777,nosuid,nodev"]
    return "".join([*(f"{line}\n" for line in lines), *_unknown(job)])
