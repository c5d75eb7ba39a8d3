from __future__ import annotations

import sys
from pathlib import Path

# What other processes run must have a name there: gang and cases are modules of this folder.
sys.path.append(str(Path(__file__).parent))
