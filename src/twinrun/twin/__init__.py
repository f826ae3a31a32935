"""What runs inside the program's process."""
