"""Methods of integration, each with its error estimate and its values between steps."""
