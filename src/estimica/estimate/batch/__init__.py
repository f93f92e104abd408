"""Many fits of one model that advance together: other data, other starts, or unknowns held."""
