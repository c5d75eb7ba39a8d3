#!/usr/bin/env bash
# A real Slurm of one node with two cores: set up, the tests marked 'slurm', torn down. As root, on a machine
# without a Slurm of its own: apt-get install slurm-wlm munge. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/../../.."
for program in slurmctld slurmd sbatch munged; do
    command -v "$program" >/dev/null || { echo "skipped: $program is not installed (apt-get install slurm-wlm munge)"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: only root can set up a Slurm"; exit 0; }
PYTHON=${PYTHON:-.venv/bin/python}
place=$(mktemp -d)
host=$(hostname -s)
chmod 755 "$place"
mkdir "$place/state" "$place/spool"

stop() { # by their pid files; what runs on the node goes with its daemon's jobs
    timeout 5 scancel --quiet --me 2>/dev/null || true
    for _ in $(seq 25); do [ -z "$(timeout 5 squeue --noheader 2>/dev/null)" ] && break; sleep 0.2; done
    for name in slurmctld slurmd munged; do
        if [ -s "$place/$name.pid" ]; then
            pid=$(cat "$place/$name.pid")
            kill "$pid" 2>/dev/null || true
            for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
            kill -9 "$pid" 2>/dev/null || true
        fi
    done
    rm -rf "$place"
}
trap stop EXIT
no_slurm() { # where daemons may not run, as in some containers: the tests have nothing to test
    tail -n 5 "$place"/*.log "$place/munge/log" 2>/dev/null || true
    echo "skipped: no Slurm can be set up here: $1"
    exit 0
}

cat >"$place/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
SlurmdUser=root
ReturnToService=2
SlurmctldParameters=preempt_send_user_signal
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0
MpiDefault=none
KillWait=2
MinJobAge=60
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=tests Nodes=$host Default=YES MaxTime=60 State=UP PriorityTier=1 GraceTime=15
PartitionName=urgent Nodes=$host MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
END
export SLURM_CONF=$place/slurm.conf

mkdir "$place/munge"
dd if=/dev/urandom of="$place/munge/key" bs=1024 count=1 status=none
chown -R munge: "$place/munge"
chmod 600 "$place/munge/key"
chmod 755 "$place/munge"
touch "$place/munged.pid"
runuser -u munge -- munged --force --key-file="$place/munge/key" --socket="$place/munge/socket" \
    --pid-file="$place/munge/munged.pid" --log-file="$place/munge/log" --seed-file="$place/munge/seed" ||
    no_slurm "munged does not start"
cp "$place/munge/munged.pid" "$place/munged.pid"
slurmctld || no_slurm "slurmctld does not start"
slurmd || no_slurm "slurmd does not start"
for _ in $(seq 100); do
    state=$(sinfo --noheader --partition tests --format %t 2>/dev/null || true)
    [ "$state" = idle ] && break
    sleep 0.2
done
[ "$state" = idle ] || no_slurm "its node is '$state' after 20 seconds"
if [ $# -eq 0 ]; then set -- -n0 -m slurm tests/lab/cluster; fi
ILC_TEST_SLURM=1 "$PYTHON" -m pytest "$@"
