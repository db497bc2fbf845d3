"""A host's tree as an archive, taken by a POSIX shell: an allow-list of files, their modes and links, a few answers."""
