def attention_backward(g_out, x, wo, q, v, k_T, e, sum_e, a, product, diff):
    """Gradients of attention (model.py:1) with respect to wq, wk, wv and wo.

    inputs   x f32[4,16,8], y f32[4,16,8], wq f32[8,8], wk f32[8,8], wv f32[8,8], wo f32[8,8]
    saved    q f32[4,16,8], v f32[4,16,8], k_T f32[4,8,16], e f32[4,16,16], sum_e f32[4,16,1],  19 kB
             a f32[4,16,16], product f32[4,16,8], diff f32[4,16,8]
    returns  g_wq f32[8,8], g_wk f32[8,8], g_wv f32[8,8], g_wo f32[8,8]
    """
    # return np.mean((a @ v @ wo + x - y) ** 2)                     model.py:8
    g_diff = diff * (g_out / 256)                                   # f32[4,16,8]
    g_product = g_diff @ wo.T                                       # f32[4,16,8]
    g_wo = product.reshape(64, 8).T @ g_diff.reshape(64, 8)         # f32[8,8]
    g_a = g_product @ v.swapaxes(-1, -2)                            # f32[4,16,16]
    g_v = a.swapaxes(-1, -2) @ g_product                            # f32[4,16,8]
    # a = e / np.sum(e, axis=-1, keepdims=True)                     model.py:7
    ratio = g_a / sum_e                                             # f32[4,16,16]
    g_e = ratio - np.sum(ratio * a, axis=2, keepdims=True)          # f32[4,16,16]
    # e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))   model.py:6
    g_scores = g_e * e                                              # f32[4,16,16]
    # scores = q @ np.swapaxes(k, -1, -2) * 0.125                   model.py:5
    g_product_2 = 0.125 * g_scores                                  # f32[4,16,16]
    g_q = g_product_2 @ k_T.swapaxes(-1, -2)                        # f32[4,16,8]
    g_k = g_product_2.swapaxes(-1, -2) @ q                          # f32[4,16,8]
    # v = x @ wv                                                    model.py:4
    reshaped = x.reshape(64, 8)                                     # f32[64,8]
    g_wv = reshaped.T @ g_v.reshape(64, 8)                          # f32[8,8]
    # k = x @ wk                                                    model.py:3
    g_wk = reshaped.T @ g_k.reshape(64, 8)                          # f32[8,8]
    # q = x @ wq                                                    model.py:2
    g_wq = reshaped.T @ g_q.reshape(64, 8)                          # f32[8,8]
    return g_wq, g_wk, g_wv, g_wo
