def loss_backward(g_out, x, targets, W2, hidden, exp_shifted, sum_exp_shifted):
    """Gradients of loss (model.py:1) with respect to W1, b1, W2 and b2.

    inputs   x f32[32,64], targets f32[32,10], W1 f32[64,64], b1 f32[64], W2 f32[64,10],
             b2 f32[10]
    saved    hidden f32[32,64], exp_shifted f32[32,10], sum_exp_shifted f32[32,1]  9.6 kB
    returns  g_W1 f32[64,64], g_b1 f32[64], g_W2 f32[64,10], g_b2 f32[10]
    """
    # return -np.mean(np.sum((shifted - log_norm) * targets, axis=1))  model.py:8
    g_diff = targets * (g_out / -32)                                # f32[32,10]
    # log_norm = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))  model.py:7
    g_shifted = g_diff - np.sum(g_diff, axis=1, keepdims=True) / sum_exp_shifted * exp_shifted  # f32[32,10]
    # logits = hidden @ W2 + b2                                     model.py:4
    g_b2 = np.sum(g_shifted, axis=0)                                # f32[10]
    g_hidden = g_shifted @ W2.T                                     # f32[32,64]
    g_W2 = hidden.T @ g_shifted                                     # f32[64,10]
    # hidden = np.tanh(x @ W1 + b1)                                 model.py:3
    g_pre = g_hidden * (1 - hidden * hidden)                        # f32[32,64]
    g_b1 = np.sum(g_pre, axis=0)                                    # f32[64]
    g_W1 = x.T @ g_pre                                              # f32[64,64]
    return g_W1, g_b1, g_W2, g_b2
