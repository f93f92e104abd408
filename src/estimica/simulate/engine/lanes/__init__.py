"""Groups of members of an ensemble that step together. To the engine a group is one larger model:
number k of member l stands at k·lanes + l, and the worst member decides about a step."""
