"""A report about your runs: one HTML file, which a browser opens from disk, without a network or a server.

``run_folders`` finds the runs. ``run_record`` reads a run in any state. ``thinning`` limits the length of
curves. ``committed`` reads the claims and figures of the repository. ``page`` puts everything into
``templates/``.
"""
