"""Stand-ins for a machine: a kernel that couples, clamps and refuses, and the trees it starts from."""
