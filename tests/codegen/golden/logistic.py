def logistic_loss_backward(g_out, X, y, p, diff, diff_2):
    """Gradients of logistic_loss (model.py:1) with respect to w and b.

    inputs   w f64[5], b f64[], X f64[100,5], y f64[100]
    saved    p f64[100], diff f64[100], diff_2 f64[100]             2.4 kB
    returns  g_w f64[5], g_b f64[]
    """
    # return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))      model.py:11
    g_p = (y / p - diff / diff_2) * (g_out / -100)                  # f64[100]
    # p = 1 / (1 + np.exp(-z))                                      model.py:10
    g_z = g_p * (p * diff_2)                                        # f64[100]
    # z = X @ w + b                                                 model.py:9
    g_b = np.sum(g_z)                                               # f64[]
    g_w = g_z @ X                                                   # f64[5]
    return g_w, g_b
