"""Observe, compare, order, write, remember, give back. Standard library only; knows settings, not knobs."""
