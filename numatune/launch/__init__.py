"""Where a worker belongs, and starting it there. Standard library only; modules are imported by their full names."""
