#!/bin/bash
# in-image.sh ROOT FOLDER CAPABILITIES PROGRAM ARGUMENT…: runs a program in the file system of an image as a container of deploy/ runs: as root with
# these capabilities alone (setpriv(1): +dac_override), read only, with a /tmp of its own, and FOLDER/run and FOLDER/data for /var/run/ovn and
# /var/lib/ovn.
set -euo pipefail
mkdir -p "$1/run/ovn" "$1/var/lib/ovn" "$2/run" "$2/data"
exec unshare --mount --propagation private bash -euc '
  root=$1 folder=$2 capabilities=$3; shift 3
  mount --bind "$root" "$root"
  mount --rbind /dev "$root/dev"; mount --rbind /proc "$root/proc"; mount -t tmpfs tmpfs "$root/tmp"
  mount --bind "$folder/run" "$root/run/ovn"; mount --bind "$folder/data" "$root/var/lib/ovn"
  mount -o remount,bind,ro "$root"
  exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin NODE_ENV=production \
    setpriv --no-new-privs --bounding-set="-all,$capabilities" --inh-caps="-all,$capabilities" "$@"' - "$@"
