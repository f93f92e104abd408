"""What is wrong with a study, told before any long work."""
