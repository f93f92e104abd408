"""A process of its own that loads the models of a study for its pages."""
