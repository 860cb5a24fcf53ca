def enter(args, kwargs, anyhow=False):
    """The value of loss and its gradients; False if the call is not like the recorded one,
    None if it is not looked at.
    """
    if not (anyhow or current.style is style and sys.gettrace() is None):
        return None
    if not (len(args) == 2 and not kwargs):
        return False
    params, x = args
    if not (type(params) is dict and [*params] == params_keys):
        return False
    params_w = params['w']
    if not (
        type(params_w) is ndarray
        and params_w.ndim == 2
        and len(params_w) == 3
        and params_w.size == 6
        and (params_w.dtype is float64 or params_w.dtype == float64)
    ):
        return False
    params_b = params['b']
    if not (
        type(params_b) is ndarray
        and params_b.ndim == 1
        and len(params_b) == 2
        and (params_b.dtype is float64 or params_b.dtype == float64)
    ):
        return False
    if not (
        type(x) is ndarray
        and x.ndim == 2
        and len(x) == 4
        and x.size == 12
        and (x.dtype is float64 or x.dtype == float64)
    ):
        return False
    # what it reads from outside
    if not (
        loss.__code__ is loss_code
        and loss.__defaults__ is loss_defaults
        and loss.__kwdefaults__ is None
        and globals_of_test_entry.get('np', missing) is numpy
        and globals_of_numpy.get('sum', missing) is sum_2
        and type((SCALE := globals_of_test_entry.get('SCALE', missing))) is float
        and SCALE == 2.0
    ):
        return False
    before = errors.get()
    try:
        errors.set(strict.get(before) or tighten())
        value, g_params_w, g_params_b = step(params_w, params_b, x)
    finally:
        errors.set(before)
    return value[()] if type(value) is ndarray else value, {'w': g_params_w, 'b': g_params_b}
