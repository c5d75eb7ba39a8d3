"""The exception type for all mistakes that a user can correct."""


class UserError(ValueError):
    """A mistake in the input. The message names what was wrong, what was expected and the remedy.

    The command line prints only the message, without a traceback, and exits with status 1.
    """
