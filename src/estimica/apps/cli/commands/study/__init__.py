"""Commands about models and study files: look into, draft, check, trust, export."""
