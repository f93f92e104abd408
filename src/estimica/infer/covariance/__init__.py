"""The covariance of the estimate, also where noise is coloured or uneven."""
