"""What names mean in a model that is written out, in layers that each know the ones below."""
