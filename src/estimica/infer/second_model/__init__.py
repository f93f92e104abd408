"""How far estimates of one model explain data of another."""
