"""Data -> text, JSON. Pure: a view knows neither hosts nor knobs, prints nothing and reads nothing."""
