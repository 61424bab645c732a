# cgroups of a node, for its container runtime; sourced inside a node. A node's cgroup is the root of what its runtime sees, in old
# hierarchies (one per controller) and in the unified one. `heddle lab down` removes it.
unified() { ! awk '!/^#/ && $2 > 0 {found = 1} END {exit !found}' /proc/cgroups; }

# Mounts what this process's cgroup namespace shows. A controller without a number is in no old hierarchy: mounting it would make one,
# for the whole machine.
mount_cgroups() {
  local c o
  if unified; then mount -t cgroup2 cgroup /sys/fs/cgroup; return; fi
  mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup
  for c in $(awk '!/^#/ && $2 > 0 {print $1}' /proc/cgroups) systemd unified; do
    o="-t cgroup -o $c"; [ $c != systemd ] || o="-t cgroup -o none,name=systemd"; [ $c != unified ] || o="-t cgroup2"
    mkdir "/sys/fs/cgroup/$c"; mount $o cgroup "/sys/fs/cgroup/$c"
  done
}
unmount_cgroups() { umount -R -l /sys/fs/cgroup; }
cgroup_tops() { if unified; then echo /sys/fs/cgroup; else ls -d /sys/fs/cgroup/*; fi; }

# make_cgroup NAME/NAME…: made in each hierarchy, and entered by the calling shell.
make_cgroup() {
  local top at part f c
  ! unified || for c in cpuset cpu io memory pids; do echo +$c > /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true; done
  for top in $(cgroup_tops); do
    at=$top
    for part in ${1//\// }; do
      mkdir -p "$at/$part"
      # A new set of processors is empty, and nothing can enter it.
      if [ -e "$at/cpuset.cpus" ] && ! unified; then for f in cpus mems; do cat "$at/cpuset.$f" > "$at/$part/cpuset.$f"; done; fi
      at=$at/$part
    done
    echo $$ > "$at/cgroup.procs"
  done
}
# enter_daemons: the calling shell goes where a node's daemons are; with the unified hierarchy that is a leaf, as only leaves have processes.
enter_daemons() {
  local c
  for c in $(cgroup_tops); do ! unified || { c=$c/daemons; mkdir -p "$c"; }; echo $$ > "$c/cgroup.procs"; done
}
