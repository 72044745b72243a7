"""The pages hold doctests; what the build makes, and what makes it, does not."""

collect_ignore_glob = ["_*", "blocks/*", "conf.py"]
