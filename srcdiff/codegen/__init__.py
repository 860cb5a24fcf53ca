"""Code generation: programs become syntax trees, trees become text, text becomes functions."""
