"""Frequencies and idle states, by the kernel's own drivers: acpi-cpufreq and acpi_idle."""

from __future__ import annotations

import pytest

from lab.machine import Machine
from lab.reports import changed, failed, rows, statuses

pytestmark = pytest.mark.lab

CPUS = "/sys/devices/system/cpu"
HELD = (
    f"cd {CPUS} && grep -H . cpufreq/policy*/scaling_governor cpufreq/policy*/scaling_m*_freq "
    "cpu[01]/cpuidle/state*/disable cpu[01]/power/pm_qos_resume_latency_us"
)
COUNTED = f"cd {CPUS} && cat cpu0/cpuidle/state1/usage cpu0/cpuidle/state2/usage"
SLOW = f"for file in {CPUS}/cpufreq/policy*/scaling_max_freq; do echo 800000 > $file; done"
FAST = """name: fast
cpufreq:
  governor: performance
  min_khz: 1600000
  max_khz: highest
  cpuidle: {disable: [C2]}
"""
AWAKE = "name: awake\ncpufreq: {cpuidle: {resume_latency_us: 20}}\n"


def test_frequencies_and_idle_states_are_set_and_come_back(single: Machine) -> None:
    """From 800 MHz at most to 1,600 at least: of the two limits the one that makes room must go first, both ways."""
    single.ssh.put({"/root/fast.yaml": FAST})
    told = single.batch(
        {
            "driver": f"modprobe acpi-cpufreq && {SLOW}",
            "before": HELD,
            "apply": "numatune apply /root/fast.yaml --yes --json",
            "held": HELD,
            "now": f"cat {CPUS}/cpufreq/policy*/scaling_cur_freq",
            "first": COUNTED,
            "second": f"sleep 3; {COUNTED}",
            "verify": "numatune verify --json",
            "again": "numatune apply /root/fast.yaml --yes --json",
            "rollback": "numatune rollback --all --yes --json",
            "after": HELD,
            "counted": COUNTED,
            "later": f"sleep 3; {COUNTED}",
        }
    )
    assert failed(told) == {}
    wanted = {
        f"cpufreq:{place}/{key}": "ok"
        for place, keys in (("policy", ("governor", "min_khz", "max_khz")), ("cpu", ("C2",)))
        for place in (f"{place}0", f"{place}1")
        for key in keys
    }
    for name in ("apply", "verify"):
        assert {row: status for row, status in statuses(told[name]).items() if row in wanted} == wanted
    assert changed(told["again"]) == set()
    assert told["now"].out.split() == ["2400000"] * 2
    assert counts(told["first"].out)[1] == counts(told["second"].out)[1]
    assert counts(told["first"].out)[0] < counts(told["second"].out)[0]
    assert told["before"].out != told["held"].out
    assert told["after"].out == told["before"].out
    assert counts(told["counted"].out)[1] < counts(told["later"].out)[1]


def test_a_limit_of_waking_up_keeps_slower_states_out(single: Machine) -> None:
    """C2 takes 200 µs to wake up from: within 20 µs nobody enters it, and no file need be held open for that."""
    single.ssh.put({"/root/awake.yaml": AWAKE})
    told = single.batch(
        {
            "before": HELD,
            "apply": "numatune apply /root/awake.yaml --yes --json",
            "first": COUNTED,
            "second": f"sleep 3; {COUNTED}",
            "verify": "numatune verify --json",
            "rollback": "numatune rollback --all --yes --json",
            "after": HELD,
        }
    )
    assert failed(told) == {}
    assert rows(told["apply"])["cpufreq:cpu1/resume_latency_us"]["status"] == "ok"
    assert counts(told["first"].out)[1] == counts(told["second"].out)[1]
    assert counts(told["first"].out)[0] < counts(told["second"].out)[0]
    assert told["after"].out == told["before"].out


def counts(text: str) -> list[int]:
    """How often C1 and C2 were entered."""
    return [int(word) for word in text.split()]
