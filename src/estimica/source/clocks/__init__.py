"""Synchronous Modelica: clocks, partitions, and the when-clauses that stand for them."""
