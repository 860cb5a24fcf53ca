"""Backward passes over the tape, and PyTorch's interface to them."""
