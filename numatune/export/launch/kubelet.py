"""The kubelet's configuration of a node, and a pod that it aligns (kubelet.config.k8s.io/v1beta1).

All of it is the node's: no annotation of a pod changes it. CPUs are exclusive to a Guaranteed pod with whole CPUs only.
The static policies need something reserved. Above 8 nodes the topology manager refuses to start without its option; on
hosts with GPU-memory nodes it walks 2^nodes sets (kubernetes issue 135581).
"""

from __future__ import annotations

from numatune.export.launch.job import Job
from numatune.launch.visible import AMD

_MOST_NODES = 8


def kubelet(job: Job) -> str:
    """KubeletConfiguration and an example pod, two documents."""
    reserved = (
        f'reservedSystemCPUs: "{job.reserved}"'
        if job.reserved
        else 'reservedSystemCPUs: "0" # the static policy needs one'
    )
    lines = [
        "apiVersion: kubelet.config.k8s.io/v1beta1",
        "kind: KubeletConfiguration",
        "cpuManagerPolicy: static",
        'cpuManagerPolicyOptions: {full-pcpus-only: "true"}',
        reserved,
        "topologyManagerPolicy: single-numa-node",
        "topologyManagerScope: pod",
    ]
    if job.nodes > _MOST_NODES:
        lines += [
            f"# {job.nodes} nodes: it starts only with this option, and its work doubles with each node",
            f'topologyManagerPolicyOptions: {{max-allowable-numa-nodes: "{job.nodes}"}}',
        ]
    cpus = min((len(one.cpus) for one in job.ranks), default=len(job.whole.cpus))
    resource = "amd.com/gpu" if job.vendor == AMD else "nvidia.com/gpu"
    device = f", {resource}: 1" if job.whole.devices else ""
    lines += [
        "---",
        "apiVersion: v1",
        "kind: Pod",
        "metadata: {name: server}",
        "spec:",
        "  containers:",
        "    - name: server",
        "      image: IMAGE",
        "      securityContext: {capabilities: {add: [SYS_NICE]}}",
        "      resources: # requests as limits and whole CPUs: Guaranteed, so that the CPUs are its own",
        f'        limits: {{cpu: "{cpus}", memory: MEMORY{device}}}',
    ]
    return "".join(f"{line}\n" for line in lines)
