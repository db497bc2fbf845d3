"""Odd profiles and odd hosts, by the thousand from a seed: `make fuzz` runs all of them, `make test` a sample."""
