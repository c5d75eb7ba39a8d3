"""``python -m ilc``: what this is and where to go."""

from ilc import __version__

ABOUT = f"""\
ilc {__version__}: learning explanations that are hard to vary (ICLR 2021).
Masks that keep a gradient component only where environments agree on its sign.

Your own model, instead of loss.backward():
    from ilc import AndMask, backward
    result = backward(model, loss_fn, inputs, targets, AndMask(0.8))
    Inputs are [E, N, ...], one batch per environment; help(backward) says more.

The paper's experiments, in a clone of the repository:
    make demo                                  plain training against the mask
    python src/train.py experiment=spirals     one run; --help lists the others
    README.md, docs/                           results, claims, how to extend
"""

if __name__ == "__main__":
    print(ABOUT, end="")
