"""`python -m twinrun` is the same as `twinrun`."""

from twinrun.cli import main

main()
