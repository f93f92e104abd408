"""SBML: models of systems biology as FlatSystems; the only place that imports libsbml."""
