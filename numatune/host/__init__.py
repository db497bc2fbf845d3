"""The door to a machine: the Reader and Host protocols and who implements them."""
