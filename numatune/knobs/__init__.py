"""Every knob there is, one line each."""
