"""Makes what is generated in docs/: the reference, and the manual pages. `make docs` writes them, a test compares."""
