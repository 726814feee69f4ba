"""Questions and answers on which the small model learns to chat."""
