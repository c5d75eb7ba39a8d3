"""Which levels are for what: five ranges of level numbers that do not meet.

A level of CoinRun is made from its number alone (and the distribution mode), so disjoint ranges are
disjoint levels.
"""

CLONING_TRAIN = range(0, 10_000)
"""The training environments of behavioural cloning: its first 64 (paper), one environment each."""

CLONING_TEST = range(10_000, 50_000)
"""The test states of behavioural cloning: its first 2,000 (paper), one state each."""

CLONING_VALIDATION = range(50_000, 100_000)
"""States to choose settings by, one of each level. The paper chooses by its test states."""

UNSEEN = range(100_000, 1_000_000)
"""Levels to measure success rates on, of the expert and of its students."""

EXPERT_TRAIN = range(1_000_000, 2_001_000_000)
"""The expert's training levels. procgen's own "all levels" would be 0 to 2^31; this is 93 % of them and
leaves the ranges above unseen."""
