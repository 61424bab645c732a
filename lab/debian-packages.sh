# Programs from Debian's packages, unpacked into a folder of our own: nothing is installed, and no root is needed.
# Sourced, never run. Needs a function `die` of the one that sources it.
#   HEDDLE_LAB_MIRROR   Debian mirror (default: the first Debian one that apt on this machine uses)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# apt with lists and a status of its own.
use_apt() { # use_apt FOLDER SUITE...
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || die "needs apt-get and dpkg (a Debian or Ubuntu machine)"
  [ -e "$keyring" ] || die "needs $keyring (package debian-archive-keyring)"
  local mirror=${HEDDLE_LAB_MIRROR:-} apt=$1/apt suite; shift
  [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)|$(SUITE)' 'Created-By: Packages' 'Origin: Debian' |
    awk -F'|' '$2 !~ /security|updates|backports/ {print $1; exit}')
  [ -n "$mirror" ] || die "apt on this machine uses no Debian mirror: set HEDDLE_LAB_MIRROR to one"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  : > "$apt/status"; : > "$apt/sources.list"
  for suite; do echo "deb [signed-by=$keyring] $mirror $suite main" >> "$apt/sources.list"; done
  cat > "$apt/conf" <<C
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "-";
APT::Sandbox::User "$(id -un)";
C
  export APT_CONFIG=$apt/conf
  apt-get -qq update >&2 || die "package lists of $mirror can't be read"
}

unpack_all() { # unpack_all FOLDER DEB...
  local into=$1 deb; shift
  mkdir -p "$into"
  for deb; do dpkg -x "$deb" "$into"; rm "$deb"; done
}

# These packages alone.
unpack() { # unpack FOLDER PACKAGE...: into FOLDER/root
  local into=$1; shift
  mkdir -p "$into/debs"
  (cd "$into/debs" && apt-get -qq download "$@" >&2) || die "packages can't be fetched: $*"
  unpack_all "$into/root" "$into"/debs/*.deb
}

# These packages and all that they depend on, the C library included.
unpack_whole() { # unpack_whole FOLDER PACKAGE...: into FOLDER/root
  local into=$1; shift
  apt-get -qq -y --no-install-recommends --download-only install "$@" >&2 || die "packages can't be fetched: $*"
  unpack_all "$into/root" "$into"/apt/cache/archives/*.deb
}
