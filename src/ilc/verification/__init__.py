"""A user's own model and batch, compared with a plain loop of autograd.

This package is not called ``verify``, because a module of that name would hide the function ``ilc.verify``.
"""

from ilc.verification._comparison import Compared
from ilc.verification._verify import Verification, verify

__all__ = ["Compared", "Verification", "verify"]
