"""What every room needs: errors, close names, signals, and how results show themselves."""
