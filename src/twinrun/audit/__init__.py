"""The source audit: reads a program with `ast` alone, imports nothing of it, and returns findings.

`follow` executes the program over marks instead of values; the finding families say what leaves the program
means; `report` turns what reached training into findings.
"""

from twinrun.audit.source_audit import SourceAudit, audit_source

__all__ = ["SourceAudit", "audit_source"]
