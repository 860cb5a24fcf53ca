def branch(w, x):
    """Gradients of branch (model.py:1).

    returns  total f64[], g_w f64[3,3]
    written out 4 times: model.py:7, whose iterations differ
    written out 4 times: model.py:5, whose iterations differ
    """
    # h = np.sin(h) - w[0]                                          model.py:7
    part = w[0]                                                     # f64[3]
    h = np.sin(x) - part                                            # f64[3]
    # h = np.tanh(h @ w)                                            model.py:5
    h_2 = np.tanh(h @ w)                                            # f64[3]
    h_3 = np.tanh(h_2 @ w)                                          # f64[3]
    # h = np.sin(h) - w[0]                                          model.py:7
    h_4 = np.sin(h_3) - part                                        # f64[3]
    h_5 = np.sin(h_4) - part                                        # f64[3]
    # h = np.tanh(h @ w)                                            model.py:5
    h_6 = np.tanh(h_5 @ w)                                          # f64[3]
    # h = np.sin(h) - w[0]                                          model.py:7
    h_7 = np.sin(h_6) - part                                        # f64[3]
    # h = np.tanh(h @ w)                                            model.py:5
    h_8 = np.tanh(h_7 @ w)                                          # f64[3]
    # return np.sum(h)                                              model.py:8
    total = np.sum(h_8)                                             # f64[]
    # h = np.tanh(h @ w)                                            model.py:5
    diff = 1 - h_8 * h_8                                            # f64[3]
    g_h_7 = diff @ w.T                                              # f64[3]
    # h = np.sin(h) - w[0]                                          model.py:7
    g_h_6 = g_h_7 * np.cos(h_6)                                     # f64[3]
    # h = np.tanh(h @ w)                                            model.py:5
    product = g_h_6 * (1 - h_6 * h_6)                               # f64[3]
    g_h_5 = product @ w.T                                           # f64[3]
    g_w = h_7[:, None] * diff + h_5[:, None] * product              # f64[3,3]
    # h = np.sin(h) - w[0]                                          model.py:7
    g_h_4 = g_h_5 * np.cos(h_4)                                     # f64[3]
    g_h_3 = g_h_4 * np.cos(h_3)                                     # f64[3]
    # h = np.tanh(h @ w)                                            model.py:5
    product_2 = g_h_3 * (1 - h_3 * h_3)                             # f64[3]
    g_h_2 = product_2 @ w.T                                         # f64[3]
    g_w += h_2[:, None] * product_2                                 # f64[3,3]
    product_3 = g_h_2 * (1 - h_2 * h_2)                             # f64[3]
    g_h = product_3 @ w.T                                           # f64[3]
    g_w += h[:, None] * product_3                                   # f64[3,3]
    # h = np.sin(h) - w[0]                                          model.py:7
    g_w[0] += -(g_h_7 + g_h_5 + g_h_4 + g_h)                        # f64[3,3]
    return total, g_w
