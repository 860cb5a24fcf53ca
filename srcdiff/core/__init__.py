"""The calculus of programs: primitives, the IR, how it is built and checked."""
