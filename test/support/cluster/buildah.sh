# Sourced by scripts that build images: buildah with a storage of its own, as root in whatever kernel this is.
die() { echo "buildah: $*" >&2; exit 3; }
[ "$(id -u)" = 0 ] || die 'images are built as root'
[ "$(uname -sm)" = 'Linux x86_64' ] || die 'base images are made for Linux on amd64 alone'
for needed in buildah mmdebstrap npm apt-get; do command -v "$needed" > /dev/null || die "$needed is missing: on Debian apt-get install buildah mmdebstrap npm"; done
builder=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}/image-builder
mkdir -p "$builder"
export BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$builder/storage" --runroot "$builder/run" --storage-driver vfs "$@"; }
