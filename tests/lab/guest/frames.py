"""frames.py NIC COUNT: asks its wire's router for its address so many times, on every CPU, so that interrupts come."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

ARP = 0x0806
US, ROUTER = bytes((10, 0, 2, 99)), bytes((10, 0, 2, 2))  # QEMU's user network


def main(nic: str, count: int) -> None:
    own = bytes.fromhex(Path(f"/sys/class/net/{nic}/address").read_text(encoding="ascii").strip().replace(":", ""))
    head = b"\xff" * 6 + own + ARP.to_bytes(2, "big")
    question = head + b"\x00\x01\x08\x00\x06\x04\x00\x01" + own + US + bytes(6) + ROUTER
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind((nic, 0))
    for cpu in sorted(os.sched_getaffinity(0)):
        os.sched_setaffinity(0, {cpu})
        for _ in range(count):
            wire.send(question)
            time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
