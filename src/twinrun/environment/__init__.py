"""The environment of a run: its facts, the key made of those that may change bits, differences, locks and numeric
fingerprints."""
