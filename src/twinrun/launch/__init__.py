"""Launching: programs, twins, the channel to them and the lockstep in which they advance."""
