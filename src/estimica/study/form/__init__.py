"""The study file as a form: fields, labels, values."""
