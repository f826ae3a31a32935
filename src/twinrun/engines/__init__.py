"""Where the runs of a check are made, if not in twin processes on this machine: on the nodes of a Ray cluster. Imported
only when it is asked for."""
