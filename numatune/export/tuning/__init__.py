"""A set in the words of a host where numatune does not run. Modules here are imported by their full names."""
