"""Commands that the browser started, as processes in a queue."""
