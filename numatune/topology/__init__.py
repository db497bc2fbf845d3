"""What a knob may know of a host, as pure data."""
