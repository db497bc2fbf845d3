"""Frequencies and idle states of CPUs: words that a driver offers, a preference that follows the governor, limits."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

from fakes.kernel import Behaviour, FakeKernel
from numatune.compat import override
from numatune.cpus import CpuSet

CPU = "/sys/devices/system/cpu"
LOWEST, HIGHEST = 800_000, 3_500_000
_DRIVERS = {
    "intel_pstate": ("performance powersave", "default performance balance_performance balance_power power"),
    "acpi-cpufreq": ("ondemand performance powersave schedutil", ""),
}
_FILE = re.compile(rf"{CPU}/cpufreq/(policy\d+)/(\w+)\Z")


def cpufreq(driver: str, cpus: CpuSet, each: int) -> dict[str, str]:
    """A policy for `each` CPUs in a row."""
    governors, preferences = _DRIVERS[driver]
    tree = {}
    numbers = list(cpus)
    for first in range(0, len(numbers), each):
        base = f"{CPU}/cpufreq/policy{numbers[first]}"
        shared = " ".join(map(str, numbers[first : first + each]))
        tree |= {f"{base}/related_cpus": f"{shared}\n", f"{base}/affected_cpus": f"{shared}\n"}
        tree |= {f"{base}/scaling_driver": f"{driver}\n", f"{base}/scaling_available_governors": f"{governors} \n"}
        tree |= {f"{base}/scaling_governor": "powersave\n"}
        for word, value in (("min", LOWEST), ("max", HIGHEST)):
            tree |= {f"{base}/cpuinfo_{word}_freq": f"{value}\n", f"{base}/scaling_{word}_freq": f"{value}\n"}
        if preferences:
            tree |= {f"{base}/energy_performance_available_preferences": f"{preferences} \n"}
            tree |= {f"{base}/energy_performance_preference": "balance_performance\n"}
    return tree


def cpuidle(states: Sequence[str], cpus: CpuSet) -> dict[str, str]:
    """The same states on every CPU; wake-up limits even where there are none."""
    tree = {f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us": "0\n" for cpu in cpus}
    for cpu in cpus:
        for index, name in enumerate(states):
            base = f"{CPU}/cpu{cpu}/cpuidle/state{index}"
            tree |= {f"{base}/name": f"{name}\n", f"{base}/disable": "0\n"}
    return tree


class Frequencies(Behaviour):
    """A governor brings its preference along: performance its own, any other the one that was there before.

    A limit that would cross the other is refused, as kernels before 5.5 did; what the hardware has not is clamped.
    """

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        found = _FILE.match(path)
        if found is None:
            return None
        base, word = f"{CPU}/cpufreq/{found[1]}", text.strip()
        match found[2]:
            case "scaling_governor":
                return self._governor(kernel, base, word)
            case "energy_performance_preference":
                return self._preference(kernel, base, word)
            case "scaling_min_freq" | "scaling_max_freq":
                return self._limit(kernel, base, found[2], word)
            case _:
                return errno.EACCES

    def _governor(self, kernel: FakeKernel, base: str, word: str) -> int:
        if word not in kernel.files[f"{base}/scaling_available_governors"].split():
            return errno.EINVAL
        before, kept = kernel.files[f"{base}/scaling_governor"].strip(), f"preference before performance, {base}"
        kernel.files[f"{base}/scaling_governor"] = f"{word}\n"
        preference = f"{base}/energy_performance_preference"
        if preference in kernel.files and word == "performance" != before:
            kernel.facts[kept] = kernel.files[preference]
            kernel.files[preference] = "performance\n"
        elif preference in kernel.files and before == "performance" != word:
            kernel.files[preference] = kernel.facts.pop(kept, "balance_performance\n")
        return 0

    def _preference(self, kernel: FakeKernel, base: str, word: str) -> int:
        if word not in kernel.files[f"{base}/energy_performance_available_preferences"].split():
            return errno.EINVAL
        if kernel.files[f"{base}/scaling_governor"] == "performance\n" and word != "performance":
            return errno.EBUSY
        kernel.files[f"{base}/energy_performance_preference"] = f"{word}\n"
        return 0

    def _limit(self, kernel: FakeKernel, base: str, name: str, word: str) -> int:
        if not word.isdecimal():
            return errno.EINVAL
        value = min(max(int(word), LOWEST), HIGHEST)
        low, high = (int(kernel.files[f"{base}/scaling_{which}_freq"]) for which in ("min", "max"))
        if (name == "scaling_min_freq" and value > high) or (name == "scaling_max_freq" and value < low):
            return errno.EINVAL
        kernel.files[f"{base}/{name}"] = f"{value}\n"
        return 0

    @override
    def snapshot(self, kernel: FakeKernel, state: dict[str, str]) -> None:
        """What the driver keeps to itself is no state that anybody could give back."""
        for fact in [path for path in state if path.startswith("preference before performance")]:
            del state[fact]
