"""A report of one's own runs: one HTML file, opened from disk without a network or a server.

``run_folders`` finds the runs, ``run_record`` reads one whatever its state, ``thinning`` bounds the curves,
``committed`` has the claims and figures of the repository, ``page`` puts all into ``templates/``.
"""
