"""Functions with PyTorch's names, signatures and meaning, written in primitives.

They take tensors, and arrays where a tensor could stand (the result then is an array). NumPy's spellings `axis` and
`keepdims` are accepted for `dim` and `keepdim`, as PyTorch accepts them. dtypes promote as in NumPy.
"""
