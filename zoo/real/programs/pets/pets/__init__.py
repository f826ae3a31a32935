"""Transfer learning: a small base learned on shapes, reused for pets."""
