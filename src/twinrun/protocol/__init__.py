"""The typed centre: what crosses between the processes, and what every source and framework is made of.

Imports neither the parent's side (`launch`) nor the program's side (`twin`), and no framework."""
