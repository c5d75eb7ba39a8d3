"""The one exception type for mistakes a user can mend."""


class UserError(ValueError):
    """A mistake in the input: the message names what was wrong, what was expected and the remedy.

    The entrypoint prints the message alone, without a traceback, and exits with status 1.
    """
