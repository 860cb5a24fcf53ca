def pick_backward(g_out, rows, x_part, x_0, z):
    """Gradients of pick (model.py:1) with respect to x.

    inputs   x f64[5], rows i64[7]
    saved    x_part f64[2], x_0 f64[], z f64[7]                     0.1 kB
    returns  g_x f64[5]
    """
    # return np.sum(y) + np.sum(z * z)                              model.py:4
    g_z = z * (2 * g_out)                                           # f64[7]
    # z = x[rows]                                                   model.py:3
    g_x = np.zeros(5)                                               # f64[5]
    np.add.at(g_x, rows, g_z)
    # y = x[1:3] * x[0]                                             model.py:2
    g_x[0] += np.sum(x_part) * g_out                                # f64[5]
    g_x[1:3] += g_out * x_0                                         # f64[5]
    return g_x,
