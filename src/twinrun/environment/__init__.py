"""The environment of a run: what was read, the key made of what may change bits, differences, locks and
fingerprints."""
