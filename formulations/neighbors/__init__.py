"""What is asked of each point's neighbours."""
