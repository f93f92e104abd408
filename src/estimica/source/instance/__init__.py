"""Classes and components of a model, with modifiers and redeclarations applied."""
