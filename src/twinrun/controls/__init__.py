"""Controls: what can be pinned, pinning it from inside or from the launch, and reading it back as it really
is."""
