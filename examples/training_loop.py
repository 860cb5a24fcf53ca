"""Linear regression as PyTorch's autograd tutorials teach it, on NumPy: only the import differs.

python examples/training_loop.py
"""

from __future__ import annotations

import srcdiff as torch


def main() -> tuple[float, float]:
    """Fit y = 2 x + 1 by gradient descent; gives the slope and the offset found."""
    torch.manual_seed(42)
    x = torch.randn(100, 1)
    y_true = 2 * x + 1 + 0.1 * torch.randn(100, 1)

    w = torch.zeros(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    rate = 0.1

    for epoch in range(50):
        y_pred = x * w + b
        loss = ((y_pred - y_true) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= rate * w.grad
            b -= rate * b.grad
        w.grad.zero_()
        b.grad.zero_()
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1:3d}   loss {loss.item():.4f}   w {w.item():.3f}   b {b.item():.3f}")

    print("\nwhat loss.backward() ran:\n")
    print(torch.source(loss))
    return w.item(), b.item()


if __name__ == "__main__":
    main()
