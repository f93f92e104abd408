"""OpenModelica as a front end."""
