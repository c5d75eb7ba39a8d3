"""What the gradients of environments or examples say: where they agree, and who dissents.

This package is not called ``diagnose``, because a module of that name would hide ``ilc.diagnose``.
"""

from ilc.diagnosis._diagnose import diagnose
from ilc.diagnosis._diagnosis import Diagnosis
from ilc.diagnosis._part import Part

__all__ = ["Diagnosis", "Part", "diagnose"]
