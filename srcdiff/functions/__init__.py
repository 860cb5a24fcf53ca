"""NumPy's functions on Tensors: same names, same signatures, written in primitives."""
