"""`twinrun resume`: a program stopped and started again, compared with the same program left alone."""
