"""The primitives: every operation srcdiff can differentiate, one declaration each."""
