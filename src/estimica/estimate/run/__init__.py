"""`es.fit`: one start or many, stored and taken up again."""
