"""The cost over two tuners."""
