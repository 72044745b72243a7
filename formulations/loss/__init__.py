"""What is lost when the condition cannot hold for every point."""
