"""What disagreement costs: criteria with their scales, losses, noise laws, prefilters."""
