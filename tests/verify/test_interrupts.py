"""Lines of /proc/interrupts over kernel versions and architectures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.verify.kinds.interrupts import Row, parse

X86 = """\
            CPU0       CPU1
   0:         36          0   IO-APIC   2-edge      timer
  24:          1          0 PCI-MSIX-0000:c1:00.0   0-edge      mlx5_async0@pci:0000:c1:00.0
  25:          0          7 IR-PCI-MSIX-0001:41:00.1  12-edge      nvme0q12
  26:          0          0 PCI-MSI-0000:00:1f.2   0-edge
 NMI:          0          0   Non-maskable interrupts
 ERR:          0
"""
ARM = """\
           CPU0       CPU1       CPU2
 11:       1022        980       1111     GICv3  27 Level     arch_timer
 45:          0          3          0  ITS-MSI 524289 Edge      nvme0q1
 46:          0          3          0 ITS-PCI-MSI-0000:01:00.0   2 Edge      nvme0q2
IPI0:         1          2          3       Rescheduling interrupts
"""


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (X86, [Row(24, "0000:c1:00.0", 0), Row(25, "0001:41:00.1", 12), Row(26, "0000:00:1f.2", 0)]),
        (ARM, [Row(45, "0000:01:00.0", 1), Row(46, "0000:01:00.0", 2)]),
        ("", []),
        ("CPU0\n", []),
    ],
)
def test_only_message_signalled_ones(text: str, rows: list[Row]):
    assert list(parse(text)) == rows


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7), st.integers(0, 0x7FF))
def test_one_domain_for_all_holds_the_address(domain: int, bus: int, slot: int, function: int, index: int):
    hardware = index | (bus << 8 | slot << 3 | function) << 11 | domain << 27
    line = f"  CPU0 CPU1\n 130: 4 5 IR-PCI-MSI {hardware}-edge eth0-TxRx-3\n"
    assert list(parse(line)) == [Row(130, f"{domain:04x}:{bus:02x}:{slot:02x}.{function}", index)]
