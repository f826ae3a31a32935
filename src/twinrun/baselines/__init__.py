"""Baselines: runs kept to be compared with, one small text file for each name and environment key."""
