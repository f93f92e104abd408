"""Operating points: equations without time, solved at many inputs."""
