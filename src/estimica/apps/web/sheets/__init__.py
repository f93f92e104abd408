"""Parts of a study as tables that are filled like a spreadsheet."""
