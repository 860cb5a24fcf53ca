"""srcdiff."""
