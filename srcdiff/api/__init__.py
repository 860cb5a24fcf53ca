"""Functions of functions: gradients, Jacobians, compiled functions, and looking at what was generated."""
