"""The compiler that is called today, and all that makes up for what it refuses."""
