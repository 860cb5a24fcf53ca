def nested(w, x, xs):
    """Gradients of nested (model.py:1).

    returns  total f64[], g_w f64[3,3], g_h f64[3]
    """
    h = [x]
    hs = []
    h_t = x                                                         # f64[3]
    for t in range(6):
        # h = np.sin(h) + xs[t]                                     model.py:4
        h_t_2 = np.sin(h_t) + xs[t]                                 # f64[3]
        hs_2 = np.empty((6, 3))                                     # f64[6,3]
        hs_2[0] = h_t_2
        h_5 = h_t_2                                                 # f64[3]
        for t_2 in range(5):
            # h = np.tanh(h @ w)                                    model.py:6
            h_5 = np.tanh(h_5 @ w, out=hs_2[t_2 + 1])               # f64[3]
        h.append(h_5)
        hs.append(hs_2)
        h_t = h_5
    # return np.sum(h ** 2)                                         model.py:7
    total = np.sum(h_5 ** 2)                                        # f64[]
    g_h = 2 * h_5                                                   # f64[3]
    parts = np.empty((6, 5, 3))                                     # f64[6,5,3]
    products = np.empty((6, 5, 3))                                  # f64[6,5,3]
    for t in reversed(range(6)):
        products_2 = np.empty((5, 3))                               # f64[5,3]
        g_h_2 = g_h                                                 # f64[3]
        for t_2 in reversed(range(5)):
            # h = np.tanh(h @ w)                                    model.py:6
            product = np.multiply(g_h_2, 1 - hs[t][t_2 + 1] * hs[t][t_2 + 1], out=products_2[t_2])  # f64[3]
            g_h_2 = product @ w.T                                   # f64[3]
        # h = np.tanh(h @ w)                                        model.py:6
        part_t = hs[t][:5]                                          # f64[5,3]
        parts[t] = part_t
        # h = np.sin(h) + xs[t]                                     model.py:4
        g_h = g_h_2 * np.cos(h[t])                                  # f64[3]
        products[t] = products_2
    # h = np.tanh(h @ w)                                            model.py:6
    g_w = parts.reshape(30, 3).T @ products.reshape(30, 3)          # f64[3,3]
    return total, g_w, g_h
