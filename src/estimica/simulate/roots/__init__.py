"""Root finding for systems and scalars."""
