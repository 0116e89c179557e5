#!/usr/bin/env bash
# Builds the image of a node with buildah, runs the binary of the image, and writes bin/tallyman-image.tar:
# image.sh [VERSION]. Needs Debian (or its like), root and buildah, but no registry and no daemon. IMAGE_ARCH=arm64
# builds for another processor. The script then does not run the binary.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-dev}
go=${GO:-go}
arch=${IMAGE_ARCH:-$("$go" env GOHOSTARCH)}
name=localhost/tallyman:$version
archive=bin/tallyman-image.tar
certificates=/etc/ssl/certs/ca-certificates.crt # of the Debian package ca-certificates

work=$(mktemp -d)
container=
node=
cleanup() {
  [ -z "$node" ] || kill "$node" 2>/dev/null || true
  [ -z "$container" ] || build rm "$container" >/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
# The driver vfs and the isolation chroot need no kernel module and no rights beyond those of root. The storage is
# removed at the end.
build() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

mkdir -p bin "$work"/context/{root/usr/bin,root/etc/ssl/certs,root/etc/tallyman,root/usr/share/doc/tallyman,data}
if [ "$version" = dev ]; then
  CGO_ENABLED=0 GOOS=linux GOARCH=$arch "$go" build -trimpath -ldflags='-s -w' -o "$work/context/root/usr/bin/tallyman" ./cmd/tallyman
else
  scripts/release.sh binary linux "$arch" "$work/context/root/usr/bin/tallyman"
fi
install -m 644 "$certificates" "$work/context/root$certificates"
install -m 644 LICENSE "$work/context/root/usr/share/doc/tallyman/copyright"
chmod -R go-w,a+rX "$work/context"
# The format is docker, because the format of OCI has no health check. The time is the time of the last commit, so that
# the same source makes the same image.
build bud --isolation chroot --format docker --arch "$arch" --timestamp "$(git log -1 --format=%ct)" --quiet \
  --label org.opencontainers.image.title=Tallyman --label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.revision=$(git rev-parse HEAD)" \
  --file deploy/image/Containerfile --tag "$name" "$work/context" >/dev/null

if [ "$arch" = "$("$go" env GOHOSTARCH)" ]; then
  container=$(build from --pull-never "$name")
  build run --isolation chroot "$container" -- /usr/bin/tallyman version
  # The node runs as on a site: with a read-only root, a configuration from outside, and a user other than root.
  mkdir -p "$work/site" "$work/data"
  cp -r configs/{rules,types.yaml,sample.sqlite} "$work/site"
  sed "s|127.0.0.1:8080|127.0.0.1:${IMAGE_PORT:-18088}|; s|sqlite:tallyman.db|sqlite:/var/lib/tallyman/tallyman.db|; s|sqlite:sample.sqlite|sqlite:/etc/tallyman/sample.sqlite|" \
    configs/tallyman.yaml >"$work/site/tallyman.yaml"
  chmod -R a+rX "$work" && chown 65532:65532 "$work/data"
  root=$(build mount "$container")
  # inside ARG… runs the binary of the image with this root, configuration and user.
  inside() {
    exec unshare --mount sh -euc '
      root=$1 site=$2 data=$3; shift 3
      mount --bind "$root" "$root"
      mount -o remount,bind,ro "$root"
      mount --bind "$site" "$root/etc/tallyman"
      mount --bind "$data" "$root/var/lib/tallyman"
      exec env -i PATH="$PATH" chroot --userspec=65532:65532 --groups=65532 "$root" /usr/bin/tallyman "$@"' inside "$root" "$work/site" "$work/data" "$@"
  }
  (inside serve --config /etc/tallyman/tallyman.yaml) >"$work/log" 2>&1 &
  node=$!
  for ready in '' --ready; do
    for _ in $(seq 60); do
      (inside health --config /etc/tallyman/tallyman.yaml $ready) >"$work/health" 2>&1 && break
      sleep 0.5
    done
    cat "$work/health"
    grep -q ' is ' "$work/health" || { cat "$work/log"; exit 1; } >&2
  done
  kill -TERM "$node"
  wait "$node" || { echo "The node of the image ended with code $?:"; cat "$work/log"; exit 1; } >&2
  node=
fi

rm -f "$archive"
build push --quiet "$name" "docker-archive:$archive:tallyman:$version" >/dev/null
echo "$archive has the image tallyman:$version for linux/$arch, $(du -m "$archive" | cut -f1) MB. Load it with: docker load -i $archive"
