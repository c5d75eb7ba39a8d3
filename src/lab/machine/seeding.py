"""Seeds by name, for the laboratory: the library's own, under a public path."""

from ilc._seeding import generator_for, seed_for

__all__ = ["generator_for", "seed_for"]
