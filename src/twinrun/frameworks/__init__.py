"""Frameworks: one package for each, behind the protocol in `protocol.py`. A framework itself is imported only inside a
twin that has imported it, never in the parent."""
