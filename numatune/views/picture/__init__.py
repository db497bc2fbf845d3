"""A topology as a picture: layout is data (`boxes`), made by pure functions and drawn by `svg`."""
