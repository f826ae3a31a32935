"""Diagnosis: from `diverges` to the cause. Evidence is gathered from the held twins, candidates are ranked by it, and
experiments decide: a cause is confirmed only when holding it still makes the twins repeat, or when the same inputs
are seen to give different outputs."""
