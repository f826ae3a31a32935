"""Comparing: contracts, ULPs, tensors, frames and whole recordings. Imports no framework."""
