"""`twinrun fix`: the smallest patch after which the twins agree. The user's files are read, and written only on request."""
