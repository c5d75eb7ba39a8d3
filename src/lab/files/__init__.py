"""Files and folders that stay whole: written in one step, locked, and known by their hashes.

``atomic`` writes a file in one step. ``locked`` gives a folder to one process at a time. ``sealed`` writes
files of torch with their own hash. ``checksums`` keeps the hashes of the committed results.
"""
