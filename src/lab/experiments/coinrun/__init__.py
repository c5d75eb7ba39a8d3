"""CoinRun (paper, section 3.3): the game, the expert that students clone, and the collection of its states.

This package imports none of its modules. Import each one that you need, because the game and
stable-baselines3 take long to load.
"""

TITLE = "CoinRun (section 3.3)"
