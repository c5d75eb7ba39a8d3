"""Many jobs at a time, in worker processes on this machine or on the nodes of a cluster.

``job`` is one piece of work. ``pool`` says what every pool can do. ``workers`` is the pool of this machine;
its processes run ``worker_process``. ``cluster`` is the pool of a cluster. ``jobs`` opens the right pool
and does all jobs. ``jobs_progress`` shows how many are done. ``command_line`` has the options of the
scripts.
"""
