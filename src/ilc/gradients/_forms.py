"""Where two nests differ, apart from the numbers in their tensors."""

from __future__ import annotations

from torch import Tensor
from torch.utils._pytree import keystr, tree_flatten_with_path

from ilc.gradients._tensor_tree import TensorTree


def first_difference_of_forms(one: TensorTree, other: TensorTree) -> str | None:
    """What one nest has and another one has not; None if both have tensors in the same places."""
    kinds = [[type(o) for o in tree.form.others] for tree in (one, other)]
    if one.form.spec == other.form.spec and kinds[0] == kinds[1]:
        return None
    ours, theirs = (_places(tree) for tree in (one, other))
    for where in {**ours, **theirs}:
        a, b = (places.get(where, "nothing") for places in (ours, theirs))
        if a != b:
            return f"{a} at {where or 'the top'}, and the other has {b}"
    return "other dictionaries, tuples or lists than the other"


def _places(tree: TensorTree) -> dict[str, str]:
    paths, _ = tree_flatten_with_path(tree.content)
    return {
        keystr(path): "a tensor" if isinstance(leaf, Tensor) else type(leaf).__name__ for path, leaf in paths
    }
