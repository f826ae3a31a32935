"""Federated averaging on simulated hospitals."""
