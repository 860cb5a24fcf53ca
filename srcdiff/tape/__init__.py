"""Recording: the tape of small nodes that running code leaves behind."""
