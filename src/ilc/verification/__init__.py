"""A user's own model and batch against a plain loop of autograd.

The room is not called ``verify``, because the module would then hide the function ``ilc.verify``.
"""

from ilc.verification._comparison import Compared
from ilc.verification._verify import Verification, verify

__all__ = ["Compared", "Verification", "verify"]
