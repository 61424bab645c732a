# Shared by build, host and vm. Sourced, never run. Places come from the environment:
#   HEDDLE_CACHE       where images are built and kept (default: heddle in the user's cache folder)
#   HEDDLE_LAB_SUITE   Debian suite of the nodes' root file system (default trixie: OVN 25.03, OVS 3.5)
#   HEDDLE_LAB_KERNEL_SUITES  releases of whose kernel source the virtual machine's is built, the first that gives one (default
#                      trixie-backports trixie; before 6.16 programs call a kernel that runs as a process several times as slowly)
#   HEDDLE_LAB_MIRROR  Debian mirror (default: the first Debian one that apt on this machine uses)
LAB_SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
CACHE=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}
SUITE=${HEDDLE_LAB_SUITE:-trixie}
IMAGE=$CACHE/$SUITE
KEYRING=${HEDDLE_LAB_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
KERNEL_SUITES=${HEDDLE_LAB_KERNEL_SUITES:-trixie-backports trixie}
KERNEL=$CACHE/kernel

die() { echo "heddle lab: $*" >&2; exit 2; }

mirror() {
  if [ -n "${HEDDLE_LAB_MIRROR:-}" ]; then echo "$HEDDLE_LAB_MIRROR"; return; fi
  apt-get indextargets --format '$(REPO_URI)|$(SUITE)' 'Created-By: Packages' 'Origin: Debian' |
    awk -F'|' '$2 !~ /security|updates|backports/ {print $1; exit}'
}
