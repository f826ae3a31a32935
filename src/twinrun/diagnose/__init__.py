"""Diagnosis: from `diverges` to the cause. Evidence is gathered from the held twins, suspects are ranked by it, and
experiments decide: a cause is confirmed only when freezing it makes the twins repeat, or when the same inputs are seen to
give different outputs."""
