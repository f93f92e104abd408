"""From a flat system to one that is sorted into blocks, with its index reduced."""
