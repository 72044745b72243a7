"""Side information on pairs and triplets of points."""
