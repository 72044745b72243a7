"""The compiled inner loops: linear programs in the metric's parameters, and what calls them."""
