"""The rewritten clone: while they are traced, functions run from their own source with every call routed through `rec`.

In a clone NumPy's array constructors give traced values, so that traced values can be written into what they make.
Nothing else may be told apart from running the original; docs/differences.md lists what can.
"""
