"""Commands that fit a study and judge its estimates."""
