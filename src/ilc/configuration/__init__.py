"""From config files to checked values and built objects."""

from ilc.configuration.resolvers import register_resolvers

__all__ = ["register_resolvers"]
