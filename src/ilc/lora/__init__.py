"""Votes that do not depend on how the product of a LoRA module is written as two factors.

A LoRA module adds the product ``B A`` to a weight. ``A`` is ``[r, d_in]`` and ``B`` is ``[d_out, r]``. For
every invertible ``R`` the factors ``R A`` and ``B R^-1`` are the same model. A mask by component keeps other
parts of the gradient for other factors. ``product_basis`` lets every aggregator vote in directions that the
product itself defines.
"""

from ilc.lora._product_basis import product_basis

__all__ = ["product_basis"]
