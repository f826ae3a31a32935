"""Adapters: the only place where a framework is imported, and only inside a twin that imported it itself.

An adapter is a package with `attach(watch)`, called right after the program has imported the framework. It tells
the watch what it sees through `Block`s, and counts updates through `Steps`.
"""
