"""numatune: declarative NUMA tuning for inference hosts."""

__version__ = "0.1.0"
