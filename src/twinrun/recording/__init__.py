"""Recordings: a folder with a manifest and one SQLite file of digests. Nothing in one is ever executed."""
