"""One file for each source of nondeterminism."""
