"""Jobs on a cluster: Slurm's queue through submitit, behind the same ``Job`` that workers do.

``options`` reads a file of ``conf/cluster/``. ``cluster_pool`` hands jobs in as arrays and collects their
results. ``remote`` runs on the node. ``queue`` asks Slurm which jobs are under way.
"""
