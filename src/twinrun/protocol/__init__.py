"""The types that both processes, every source and every framework share."""
