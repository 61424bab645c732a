#!/bin/bash
# build-image.sh NAME [CHECKOUT]: builds deploy/Dockerfile of a checkout with buildah, as nobody had built it before, and prints the image's id.
# Its base images are made here, once, and kept beside buildah's storage: Debian of its packages, Node.js of the package that the checkout has, npm of
# this machine, all named by digest. Nothing of a registry of images is needed.
# Exit 3: it can't be built here (the last line says why).
#   HEDDLE_CACHE   where buildah's storage is (default $XDG_CACHE_HOME/heddle or ~/.cache/heddle)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=$1 checkout=${2:-$(cd "$here/../../.." && pwd)}
. "$here/buildah.sh"
exec 9> "$builder/lock"; flock 9

version=$("$checkout/node_modules/.bin/node" --version)
debian=docker.io/library/debian:trixie-slim node=docker.io/library/node:${version#v}-trixie-slim
made() { buildah images --quiet "$1" > /dev/null 2>&1; }
new() { # new BASE IMAGE FILE…: what IMAGE has besides BASE is in the archives
  local container image=$2; container=$(buildah from --pull=never "$1"); shift 2
  for archive; do buildah add --quiet "$container" "$archive" / > /dev/null; done
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --env "NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:+/usr/local/ca.pem}" "$container"
  buildah commit --quiet --rm "$container" "$image" > /dev/null
}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
if ! made "$debian"; then
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror=$(apt-get indextargets --format '$(REPO_URI)|$(SUITE)' 'Created-By: Packages' 'Origin: Debian' | awk -F'|' '$2 !~ /security|updates|backports/ {print $1; exit}')
  [ -n "$mirror" ] || die 'apt on this machine uses no Debian mirror'
  mmdebstrap --quiet --mode=root --variant=minbase trixie "$work/debian.tar" "deb [signed-by=$keyring] $mirror trixie main" >&2
  new scratch "$debian" "$work/debian.tar"
fi
if ! made "$node"; then
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$work/node/usr/local/bin" "$work/node/usr/local/lib/node_modules"
  cp -L "$checkout/node_modules/.bin/node" "$work/node/usr/local/bin/node"
  cp -a "$npm" "$work/node/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/node/usr/local/bin/npm"
  [ -z "${NODE_EXTRA_CA_CERTS-}" ] || cp -L "$NODE_EXTRA_CA_CERTS" "$work/node/usr/local/ca.pem"
  tar --sort=name --owner=0 --group=0 -C "$work/node" -cf "$work/node.tar" .
  new "$debian" "$node" "$work/node.tar"
fi
byDigest() { echo "${1%:*}@$(buildah inspect --type image --format '{{.FromImageDigest}}' "$1")"; }
epoch=$(git -C "$checkout" log -1 --format=%ct 2> /dev/null || echo 0)
cd "$checkout"
buildah build --no-cache --pull=never --timestamp "$epoch" --build-arg SOURCE_DATE_EPOCH="$epoch" \
  --build-arg NODE_IMAGE="$(byDigest "$node")" --build-arg DEBIAN_IMAGE="$(byDigest "$debian")" \
  --file deploy/Dockerfile --iidfile "$work/id" --tag "$name" . >&2
# Of a stage that is a base image and nothing else a container is left.
buildah containers --format '{{.ContainerID}} {{.ImageName}}' --noheading | awk '$2 ~ "/library/node" {print $1}' | while read -r left; do buildah rm "$left" > /dev/null; done
cat "$work/id"
