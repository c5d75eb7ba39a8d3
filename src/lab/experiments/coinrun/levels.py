"""The use of each level: five disjoint ranges of level numbers.

A level of CoinRun depends only on its number and the distribution mode, so disjoint ranges contain
disjoint levels.
"""

CLONING_TRAIN = range(0, 10_000)
"""Levels of behavioural cloning's training environments, one each; the paper's size uses the first 64."""

CLONING_TEST = range(10_000, 50_000)
"""Levels of the test states of behavioural cloning, one each; the paper's size uses the first 2,000."""

CLONING_VALIDATION = range(50_000, 100_000)
"""Levels of the validation states, by which settings are chosen: one state of each level. The paper chooses
settings by its test states."""

UNSEEN = range(100_000, 1_000_000)
"""Levels on which the success rates of the expert and of its students are measured."""

EXPERT_TRAIN = range(1_000_000, 2_001_000_000)
"""Levels on which the expert is trained. procgen's own setting "all levels" would be 0 to 2^31. This range
is 93 % of them, and the expert never sees the levels of the other ranges."""
