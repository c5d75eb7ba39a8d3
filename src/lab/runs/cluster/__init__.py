"""Jobs on a cluster: Slurm's queue through submitit, behind the same ``Job`` that workers do.

``options`` reads ``conf/cluster/``, ``pool`` hands jobs in as arrays and collects what they return,
``remote`` is what a node does, ``queue`` asks Slurm what is under way,
``command_line`` has the scripts' options.
"""
