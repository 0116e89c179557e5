#!/usr/bin/env bash
# Makes a release in dist/: archives, packages, bills of materials, the Helm chart, the files for Compose and
# Prometheus, checksums, and, as root on Debian with buildah, the images.
#
#   release.sh VERSION                        makes everything; VERSION must be the version of the code
#   release.sh check VERSION                  makes the release twice, in two folders, and compares
#   release.sh tree OS ARCH FOLDER [BINARY]   makes the folder of an archive, with BINARY or with a new binary
#   release.sh binary OS ARCH FILE            makes the binary of a release
#   release.sh package KIND VERSION ARCH TREE FOLDER   makes a deb or an rpm from such a folder
#
# The same commit gives the same bytes: times are the time of the commit, owners are root, names are sorted, and no path
# of the machine is in a binary. Nothing comes from the network, except modules that the caches do not have. The
# variable PLATFORMS can name some of the platforms; without it the script builds all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64 windows/amd64}
go=${GO:-go}
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
date=$(git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
touched=$(git log -1 --format=%cd --date=format-local:%Y%m%d%H%M.%S)

tool() { (cd "$root/deploy/tools" && "$go" build -ldflags="-s -w" -o "$root/bin/tools/" "$1"); }
# dated gives the folder and everything below it the time of the commit.
dated() { find "$1" -exec touch -h -t "$touched" {} +; }

# binary OS ARCH FILE builds the binary. It sets GOFLAGS, because flags from the environment would change the bytes.
binary() {
  CGO_ENABLED=0 GOFLAGS=-mod=readonly GOOS=$1 GOARCH=$2 "$go" build -trimpath -buildvcs=false \
    -ldflags="-s -w -X tallyman/internal/cli.commit=$commit -X tallyman/internal/cli.date=$date" -o "$3" ./cmd/tallyman
}

# texts FOLDER makes man pages and completions, which are the same for all platforms.
texts() {
  "$go" run ./docs/reference release "$1"
  gzip -9n "$1"/man/man1/*.1
}

tree() {
  local os=$1 arch=$2 folder=$3 built=${4:-} exe=
  [ "$os" != windows ] || exe=.exe
  mkdir -p "$folder"
  if [ -n "$built" ]; then
    cp "$built" "$folder/tallyman$exe"
  else
    binary "$os" "$arch" "$folder/tallyman$exe"
  fi
  cp LICENSE README.md CHANGELOG.md "$folder"
  mkdir -p "$folder/configs"
  cp -R configs/{tallyman.yaml,types.yaml,rule.schema.json,sample.sqlite,rules,tests} "$folder/configs"
  [ "$os" != linux ] || cp deploy/packages/tallyman.service "$folder"
  if [ -n "${TEXTS:-}" ]; then
    cp -R "$TEXTS/." "$folder"
  else
    texts "$folder"
  fi
}

# packaged_config prints the shipped configuration with the paths of a package.
packaged_config() {
  sed -e 's#"sqlite:tallyman.db"#"sqlite:/var/lib/tallyman/tallyman.db"#' \
    -e 's#"sqlite:sample.sqlite"#"sqlite:/usr/share/tallyman/sample.sqlite"#' \
    -e 's#rules/sample.yaml, whose#/etc/tallyman/rules/sample.yaml, whose#' "$1"
}

package() {
  local kind=$1 version=$2 arch=$3 tree=$4 to=$5 work
  tool github.com/goreleaser/nfpm/v2/cmd/nfpm
  work=$(mktemp -d)
  cp -R "$tree/." "$work"
  mkdir -p "$work/etc" "$work/scripts"
  packaged_config "$tree/configs/tallyman.yaml" >"$work/etc/tallyman.yaml"
  if [ "$(grep -cE 'sqlite:/(var|usr)' "$work/etc/tallyman.yaml")" -ne 2 ]; then
    echo "release.sh: configs/tallyman.yaml has other paths than packaged_config looks for" >&2
    return 1
  fi
  cp -R deploy/packages/{deb,rpm} "$work/scripts"
  dated "$work"
  mkdir -p "$to"
  to=$(cd "$to" && pwd)
  (cd "$work" && VERSION=$version ARCH=$arch "$root/bin/tools/nfpm" package --config "$root/deploy/packages/nfpm.yaml" --packager "$kind" --target "$to/" >/dev/null)
  rm -rf "$work"
}

# quietly runs a command, and shows its output only if the command fails.
quietly() {
  local said
  said=$("$@" 2>&1) || { echo "$said" >&2; return 1; }
}

# sbom BINARY FILE makes the bill of materials. The tool looks for licenses in the cache of modules. It does not know
# the license of goose.
sbom() {
  GOPROXY=off quietly bin/tools/cyclonedx-gomod bin -json -noserial -notimestamp -std -licenses -assert-licenses -version "v$version" -output "$2" "$1"
  bin/tools/sbom internal/console/web internal/console/dist "$2"
}

# kit NAME FOLDER packs the chart, and the other files that a site deploys, with the sample site that Compose starts.
kit() {
  mkdir -p "$2/$1/deploy"
  cp -RL deploy/helm/tallyman "$2"
  bin/tools/archive "$2/tallyman" "dist/tallyman-$version.tgz" # helm package gives the chart this name.
  cp -R deploy/{alerts,dashboards,compose,compose.yaml} "$2/$1/deploy"
  cp -R configs LICENSE "$2/$1"
  rm -f "$2/$1"/configs/*.go
  bin/tools/archive "$2/$1" "dist/$1.tar.gz"
}

# images makes an archive for docker load for each Linux platform. The layer of an image has the same bytes each time.
# The description of the image differs each time.
images() {
  local platform
  if [ "$(id -u)" != 0 ] || ! command -v buildah >/dev/null; then
    echo "Without images: they need root and buildah, see docs/how-to/run-in-containers.md" >&2
    return
  fi
  for platform in $platforms; do
    [ "${platform%/*}" = linux ] || continue
    IMAGE_ARCH=${platform#*/} scripts/image.sh "$version" >/dev/null
    gzip -9nc bin/tallyman-image.tar >"dist/tallyman_${version}_image_${platform#*/}.tar.gz"
  done
}

checksums() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

release() {
  version=$1
  local code work name platform os arch ending sums
  code=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/cli/version.go)
  if [ "$version" != "$code" ]; then
    echo "release.sh: the code has version $code, and not $version: change internal/cli/version.go and CHANGELOG.md first" >&2
    return 1
  fi
  if [ -n "$(git status --porcelain)" ]; then
    echo "release.sh: the folder has changes that are not committed; a release is of a commit" >&2
    return 1
  fi
  for name in github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod ./sbom ./archive; do tool "$name"; done
  rm -rf dist
  mkdir dist
  work=$(mktemp -d)
  texts "$work/texts"
  for platform in $platforms; do
    os=${platform%/*} arch=${platform#*/}
    name=tallyman_${version}_${os}_${arch}
    echo "$name"
    TEXTS=$work/texts tree "$os" "$arch" "$work/$name"
    chmod 755 "$work/$name"/tallyman{,.exe} 2>/dev/null || true # cyclonedx-gomod wants it for Windows binaries, too
    sbom "$(ls "$work/$name"/tallyman{,.exe} 2>/dev/null)" "dist/$name.cdx.json"
    ending=tar.gz
    [ "$os" != windows ] || ending=zip
    bin/tools/archive "$work/$name" "dist/$name.$ending"
    if [ "$os" = linux ]; then
      package deb "$version" "$arch" "$work/$name" dist
      package rpm "$version" "$arch" "$work/$name" dist
    fi
  done
  kit "tallyman_${version}_deploy" "$work"
  [ -n "${WITHOUT_IMAGES:-}" ] || images
  rm -rf "$work"
  sums=$(cd dist && checksums tallyman*)
  echo "$sums" >dist/SHA256SUMS
}

# check VERSION makes the release in two clones, without images, because buildah writes a random name of its container
# into each image.
check() {
  local work one
  work=$(mktemp -d)
  for one in first/here second/there/deeper; do
    mkdir -p "$work/$one"
    git clone -q --shared . "$work/$one"
    WITHOUT_IMAGES=1 "$work/$one/scripts/release.sh" "$1"
  done
  diff "$work"/first/here/dist/SHA256SUMS "$work"/second/there/deeper/dist/SHA256SUMS
  echo "Both are the same:"
  cat "$work/first/here/dist/SHA256SUMS"
  rm -rf "$work"
}

case ${1:-} in
  tree | binary | package | check)
    "$@"
    ;;
  [0-9]*)
    release "$1"
    ;;
  *)
    echo "release.sh: VERSION, check VERSION, tree OS ARCH FOLDER, binary OS ARCH FILE or package KIND VERSION ARCH TREE FOLDER" >&2
    exit 2
    ;;
esac
