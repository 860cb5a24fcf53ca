def rnn_backward(g_out, U, h, xs):
    """Gradients of rnn (model.py:20) with respect to W, U and b.

    returns  g_W f64[3,4], g_U f64[4,4], g_b f64[4]
    """
    # return np.sum(h ** 2)                                         model.py:24
    g_h = h[50] * (2 * g_out)                                       # f64[4]
    g_pre = np.empty((50, 4))                                       # f64[50,4]
    for t in reversed(range(50)):
        # h = np.tanh(xs[t] @ W + h @ U + b)                        model.py:23
        g_pre_t = np.multiply(g_h, 1 - h[t + 1] * h[t + 1], out=g_pre[t])  # f64[4]
        g_h = g_pre_t @ U.T                                         # f64[4]
    # h = np.tanh(xs[t] @ W + h @ U + b)                            model.py:23
    g_b = np.sum(g_pre, axis=0)                                     # f64[4]
    g_U = np.stack(h)[:50].T @ g_pre                                # f64[4,4]
    g_W = np.stack(xs).T @ g_pre                                    # f64[3,4]
    return g_W, g_U, g_b
