def mixed_backward(g_out, m, diff, u, s, n, v):
    """Gradients of mixed (model.py:1) with respect to a, c and m.

    inputs   a f64[4,1], c f64[3], m f64[4,3]
    saved    diff f64[4,3], u f64[4,3], s f64[3], n f64[4,1], v f64[4,3]  0.3 kB
    returns  g_a f64[4,1], g_c f64[3], g_m f64[4,3]
    """
    # return np.sum(v * s) + 2 * np.sum(s ** 3)                     model.py:6
    g_s = s ** 2 * (6 * g_out) + np.sum(v, axis=0) * g_out          # f64[3]
    # v = u / n                                                     model.py:5
    ratio = g_out * s / n                                           # f64[4,3]
    # n = np.sqrt(np.sum(u * u, axis=1, keepdims=True))             model.py:4
    product = np.sum(ratio * v, axis=1, keepdims=True) / (2 * n) * u  # f64[4,3]
    # s = np.mean(u, axis=0)                                        model.py:3
    g_u = ratio - product - product + g_s / 4                       # f64[4,3]
    # u = (a - c) * m                                               model.py:2
    g_diff = g_u * m                                                # f64[4,3]
    g_m = diff * g_u                                                # f64[4,3]
    g_a = np.sum(g_diff, axis=1, keepdims=True)                     # f64[4,1]
    g_c = -np.sum(g_diff, axis=0)                                   # f64[3]
    return g_a, g_c, g_m
