"""Programs to programs: the reverse transformation and the passes that simplify what it makes."""
