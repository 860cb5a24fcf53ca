def rnn_backward(g_out, U, h, xs_0, h_2, xs_1, h_3, xs_2, h_4):
    """Gradients of rnn (model.py:1) with respect to W, U and b.

    inputs   W f64[3,4], U f64[4,4], b f64[4], xs f64[3,3], h f64[4]
    saved    xs_0 f64[3], h_2 f64[4], xs_1 f64[3], h_3 f64[4], xs_2 f64[3], h_4 f64[4]  0.2 kB
    returns  g_W f64[3,4], g_U f64[4,4], g_b f64[4]
    """
    # return np.sum(h ** 2)                                         model.py:24
    g_h_4 = h_4 * (2 * g_out)                                       # f64[4]
    # h = np.tanh(xs[t] @ W + h @ U + b)                            model.py:23
    g_pre = g_h_4 * (1 - h_4 * h_4)                                 # f64[4]
    g_h_3 = g_pre @ U.T                                             # f64[4]
    g_pre_2 = g_h_3 * (1 - h_3 * h_3)                               # f64[4]
    g_h_2 = g_pre_2 @ U.T                                           # f64[4]
    g_U = h_3[:, None] * g_pre + h_2[:, None] * g_pre_2             # f64[4,4]
    g_W = xs_2[:, None] * g_pre + xs_1[:, None] * g_pre_2           # f64[3,4]
    g_pre_3 = g_h_2 * (1 - h_2 * h_2)                               # f64[4]
    g_b = g_pre + g_pre_2 + g_pre_3                                 # f64[4]
    g_U += h[:, None] * g_pre_3                                     # f64[4,4]
    g_W += xs_0[:, None] * g_pre_3                                  # f64[3,4]
    return g_W, g_U, g_b
