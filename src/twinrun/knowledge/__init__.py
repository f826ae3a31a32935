"""What is known about Python and about functions of other libraries, for whoever reads source."""
