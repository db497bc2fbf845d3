"""Placements in the words of whoever else starts processes: one module a family, `FORMATS` in formats.py."""
