def batches(W, U, b, V, xs, h0, y):
    """Gradients of batches (model.py:1).

    returns  total_2 f32[], g_W f32[32,64], g_U f32[64,64], g_b f32[64], g_V f32[64,1]
    """
    # h = np.tanh(xs[t] @ W + h @ U + b)                            model.py:8
    total = xs @ W + b                                              # f32[50,16,64]
    h = np.empty((51, 16, 64), np.float32)                          # f32[51,16,64]
    h[0] = h0
    h_t = h0                                                        # f32[16,64]
    for t in range(50):
        # h = np.tanh(xs[t] @ W + h @ U + b)                        model.py:8
        h_t = np.tanh(total[t] + h_t @ U, out=h[t + 1])             # f32[16,64]
    # return np.sum((h @ V - y) ** 2)                               model.py:9
    diff = h_t @ V - y                                              # f32[16,1]
    total_2 = np.sum(diff ** 2)                                     # f32[]
    product = 2 * diff                                              # f32[16,1]
    g_h = product @ V.T                                             # f32[16,64]
    g_V = h_t.T @ product                                           # f32[64,1]
    # h = np.tanh(xs[t] @ W + h @ U + b)                            model.py:8
    part = h[1:]                                                    # f32[50,16,64]
    product_2 = np.multiply(part, part, out=total)                  # f32[50,16,64], reuses total
    diff_2 = np.subtract(1, product_2, out=product_2)               # f32[50,16,64], reuses product_2
    turned = np.ascontiguousarray(U.T)                              # f32[64,64]
    products = diff_2                                               # f32[50,16,64], reuses diff_2
    for t in reversed(range(50)):
        # h = np.tanh(xs[t] @ W + h @ U + b)                        model.py:8
        product_t = np.multiply(g_h, diff_2[t], out=products[t])    # f32[16,64]
        g_h = product_t @ turned                                    # f32[16,64]
    # h = np.tanh(xs[t] @ W + h @ U + b)                            model.py:8
    g_b = np.sum(products, axis=(0, 1))                             # f32[64]
    reshaped = products.reshape(800, 64)                            # f32[800,64]
    g_U = h[:50].reshape(800, 64).T @ reshaped                      # f32[64,64]
    g_W = xs.reshape(800, 32).T @ reshaped                          # f32[32,64]
    return total_2, g_W, g_U, g_b, g_V
