"""Multi-node hosts as virtual machines under QEMU's emulation: Debian's own kernel inside, to which its nodes are real.

What emulation cannot show is speed: these machines are for the truth of placement, never for timings. The package uses
the standard library only; `make lab` starts a machine by hand.
"""
