"""Reads config files, checks their values, and builds the objects that they describe."""

from lab.configuration.resolvers import register_resolvers

__all__ = ["register_resolvers"]
