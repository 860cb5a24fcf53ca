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
    turned = np.ascontiguousarray(U.T)                              # f32[64,64]
    h_bands = h[1:].reshape(5, 10, 16, 64)                          # f32[5,10,16,64]
    ones = np.full((160,), np.float32(1.0))                         # f32[160]
    h_bands_2 = h[:50].reshape(5, 160, 64)                          # f32[5,160,64]
    xs_bands = xs.reshape(5, 160, 32)                               # f32[5,160,32]
    g_b = np.zeros(64, np.float32)                                  # f32[64]
    g_U = np.zeros((64, 64), np.float32)                            # f32[64,64]
    g_W = np.zeros((32, 64), np.float32)                            # f32[32,64]
    for t in reversed(range(5)):                                    # bands of 10
        diff_2 = 1 - h_bands[t] * h_bands[t]                        # f32[10,16,64]
        values = np.empty((10, 16, 64), np.float32)                 # f32[10,16,64]
        g_h_2 = g_h                                                 # f32[16,64]
        for t_2 in reversed(range(10)):
            # h = np.tanh(xs[t] @ W + h @ U + b)                    model.py:8
            product_2 = np.multiply(g_h_2, diff_2[t_2], out=values[t_2])  # f32[16,64]
            g_h_2 = product_2 @ turned                              # f32[16,64]
        # h = np.tanh(xs[t] @ W + h @ U + b)                        model.py:8
        reshaped = values.reshape(160, 64)                          # f32[160,64]
        g_b += ones @ reshaped                                      # f32[64]
        g_U += h_bands_2[t].T @ reshaped                            # f32[64,64]
        g_W += xs_bands[t].T @ reshaped                             # f32[32,64]
        g_h = g_h_2
    return total_2, g_W, g_U, g_b, g_V
