"""Terms of the distance's power series."""
