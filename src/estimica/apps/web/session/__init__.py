"""What one browser works on: its workbench, its study, its settings."""
