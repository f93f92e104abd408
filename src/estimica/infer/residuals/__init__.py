"""What is left in the residuals: colour, inputs, trend, shape, outliers."""
