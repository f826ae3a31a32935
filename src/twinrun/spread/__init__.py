"""How far a program's results spread over seeds: the runs, the statistics, and two variants compared."""
