"""Modules of the kernel: what modprobe finds, loads and refuses."""

from __future__ import annotations

from fakes.kernel import Behaviour, FakeKernel
from numatune.compat import override
from numatune.host.protocol import Ran

_PARAMETERS = {"nvidia_peermem": {"peerdirect_support": ("0", 0o444), "persistent_api_support": ("1", 0o644)}}


def modules(kernel: str) -> dict[str, str]:
    """A kernel with one module loaded, another built in, and more on disk."""
    folder = f"/lib/modules/{kernel}"
    tree = {"/proc/modules": "nvme_core 200704 2 nvme, Live 0x0000000000000000\n"}
    tree |= {"/sys/module/nvme_core/initstate": "live\n", "/sys/module/nvme_core/refcnt": "2\n"}
    tree |= {"/sys/module/nvme_core/holders/nvme/": "", "/sys/module/nvme_core/parameters/io_timeout": "30\n"}
    tree |= {"/sys/module/nvme_core/parameters/multipath": "Y\n"}
    tree |= {"/sys/module/printk/parameters/time": "Y\n"}
    tree[f"{folder}/modules.builtin"] = "kernel/kernel/printk.ko\nkernel/net/ipv4/tcp-cubic.ko\n"
    names = ("nvme_core", "nvidia_peermem", "tcp_bbr", "unsigned")
    return tree | {f"{folder}/modules.dep": "".join(f"extra/{name}.ko:\n" for name in names)}


class Modules(Behaviour):
    """``modprobe`` and ``rmmod`` of kmod."""

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        if argv[0] not in {"modprobe", "rmmod"} or "/proc/modules" not in kernel.files:
            return None
        name = argv[-1]
        if argv[0] == "rmmod":
            return self._unload(kernel, name)
        release = kernel.files.get("/proc/sys/kernel/osrelease", "").strip()
        found = f"extra/{name}.ko:\n" in kernel.files.get(f"/lib/modules/{release}/modules.dep", "")
        if not found:
            said = f"modprobe: FATAL: Module {name} not found in directory /lib/modules/{release}\n"
            return Ran(1, "", said)
        return Ran(0) if "--dry-run" in argv else self._load(kernel, name)

    def _load(self, kernel: FakeKernel, name: str) -> Ran:
        if kernel.uid:
            return Ran(1, "", f"modprobe: ERROR: could not insert '{name}': Operation not permitted\n")
        if name == "unsigned":
            return Ran(1, "", f"modprobe: ERROR: could not insert '{name}': Key was rejected by service\n")
        if f"/sys/module/{name}/initstate" not in kernel.files:
            kernel.files["/proc/modules"] += f"{name} 16384 0 - Live 0x0000000000000000\n"
            kernel.put(f"/sys/module/{name}/initstate", "live\n")
            kernel.put(f"/sys/module/{name}/refcnt", "0\n")
            for parameter, (text, mode) in _PARAMETERS.get(name, {}).items():
                kernel.put(f"/sys/module/{name}/parameters/{parameter}", f"{text}\n", mode)
        return Ran(0)

    def _unload(self, kernel: FakeKernel, name: str) -> Ran:
        if f"/sys/module/{name}/initstate" not in kernel.files:
            return Ran(1, "", f"rmmod: ERROR: Module {name} is not currently loaded\n")
        if int(kernel.files[f"/sys/module/{name}/refcnt"]):
            return Ran(1, "", f"rmmod: ERROR: Module {name} is in use by: nvme\n")
        kernel.remove(f"/sys/module/{name}")
        lines = kernel.files["/proc/modules"].splitlines(keepends=True)
        kernel.files["/proc/modules"] = "".join(line for line in lines if line.split()[0] != name)
        return Ran(0)
