"""What a Setting is, and the plan that is made of settings: frozen data, standard library only."""
