"""FMUs as models: their archive, their process, their responses."""
