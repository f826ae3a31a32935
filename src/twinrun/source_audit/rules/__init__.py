"""What calls into other libraries do to marks: one file for each family of functions."""
