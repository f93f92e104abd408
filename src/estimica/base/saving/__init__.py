"""Results as files that can be read again, and values as JSON knows them."""
