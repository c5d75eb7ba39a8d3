"""The comparison of the AND-mask with related methods on four experiments, with equal search budgets."""

TITLE = "Neighbours"
