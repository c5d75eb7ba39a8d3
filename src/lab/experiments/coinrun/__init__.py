"""CoinRun (paper, section 3.3): the game, the expert that is cloned, and how its states are collected.

Modules are imported one by one, because the game and stable-baselines3 take long to load.
"""

TITLE = "CoinRun (section 3.3)"
