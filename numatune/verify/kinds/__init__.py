"""One module per class of target: a setting and a host that can be asked to one verdict."""
