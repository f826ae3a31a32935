"""The source audit: reads a program with `ast` alone, runs and imports nothing of it, and returns findings.

`follow` executes the program over abstract values that carry marks, `rules` know what calls into other libraries
do to those marks, and `origin_findings` turns what reached training into findings.
"""
