"""What a refusal says about state that one environment hands to the next."""


def state_message(what: str, training: bool) -> str:
    """What to say about something that a pass changes.

    Args:
        what: its name, with ``model.``, ``loss_fn.`` or another owner before it.
        training: whether the model is in training mode.
    """
    if what.startswith(("loss_fn", "the global")):
        who = "the loss" if what.startswith("loss_fn") else "the forward pass or the loss"
        return (
            f"{who} changes {what}, so that the risk of one environment depends on the environment before "
            "it: change it between the steps, or make it a buffer of the model, because every environment "
            "starts with the same buffers"
        )
    if training and "_hooks[" in what:
        return (
            f"the forward pass changes {what}, so that one environment depends on the environment before it. "
            "If only the first pass puts this hook on the module, as transformers does to return hidden "
            "states, attentions or router logits, call the model once before training. Else make it a buffer "
            "(register_buffer), because every environment starts with the same buffers, or keep it outside "
            "the model"
        )
    if training:
        return (
            f"the forward pass changes {what}, so that one environment depends on the environment before it: "
            "make it a buffer (register_buffer), because every environment starts with the same buffers, or "
            "keep it outside the model. If only the first pass makes it, call the model once before "
            "training"
        )
    return (
        f"the forward pass changes {what} in evaluation mode, so that one environment depends on the "
        "environment before it: call model.train(), because then every environment starts with the same "
        "buffers, or change it outside the pass"
    )
