"""From config files to checked values and built objects."""

from lab.configuration.resolvers import register_resolvers

__all__ = ["register_resolvers"]
