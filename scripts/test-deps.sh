#!/usr/bin/env bash
# Makes sure that tools are there: test-deps.sh NAME…, of cc, redis, postgres, pgbouncer, faketime, mariadb, sqlite3,
# curl, protoc, python3, node, chromium, fonts, packages, nginx, haproxy, caddy, victoria-metrics,
# promtool, buildah, debian.
# On Debian and its like, as root, the script installs missing tools with apt-get. Elsewhere it says exactly what to
# install, and fails. No service is started: tests start servers of their own.
set -euo pipefail

has() {
  case $1 in
    cc) [ "$(uname)" = Darwin ] || command -v "${CC:-cc}" || command -v gcc || command -v clang ;; # for the race detector
    redis) command -v redis-server ;;
    postgres) compgen -G '/usr/lib/postgresql/*/bin/initdb' || compgen -G '/opt/homebrew/opt/postgresql@*/bin/initdb' ||
      compgen -G '/usr/local/opt/postgresql@*/bin/initdb' || command -v initdb ;;
    faketime) compgen -G '/usr/lib/*/faketime/libfaketime.so.1' || compgen -G '/usr/lib/faketime/libfaketime.so.1' || [ "$(uname)" = Darwin ] ;; # sets a server's clock
    mariadb) command -v mariadbd || [ -x /usr/sbin/mariadbd ] ;;
    sqlite3 | curl | protoc) command -v "$1" ;; # sqlite3 and curl run commands of the pages of docs
    python3) command -v python3 ;; # for the receiver of docs/how-to/webhooks.md
    node) command -v npm && node -e 'process.exit(process.versions.node.localeCompare("20.19", "en", { numeric: true }) < 0 ? 1 : 0)' ;;
    chromium) [ -n "${CHROMIUM:-}" ] || command -v chromium-headless-shell || command -v chromium ;;
    victoria-metrics) command -v victoria-metrics && command -v vmalert ;; # a peer of make bench-scale
    promtool) command -v promtool ;; # for the tests of the alerts
    buildah) command -v buildah && [ -e /etc/ssl/certs/ca-certificates.crt ] ;; # builds the image, with the certificates of this machine
    pgbouncer | nginx | haproxy | caddy) command -v "$1" || [ -x "/usr/sbin/$1" ] ;;
    packages) [ "$(uname)" = Darwin ] || { command -v rpm && command -v systemd-analyze; } ;; # reads the rpm, judges the unit
    debian) command -v mmdebstrap && command -v systemd-nspawn ;; # makes a clean Debian, and starts it
    fonts) [ -n "$(fc-list :lang=zh)" ] ;; # for pictures of the Chinese pages
    *) echo "test-deps.sh: unknown name: $1" >&2; exit 2 ;;
  esac >/dev/null
}

debian_package() {
  case $1 in
    cc) echo gcc libc6-dev ;;
    redis) echo redis-server ;;
    postgres) echo postgresql ;;
    faketime) echo faketime ;;
    mariadb) echo mariadb-server ;;
    protoc) echo protobuf-compiler ;;
    python3) echo python3 ;;
    node) echo nodejs npm ;;
    chromium) echo chromium-headless-shell ;;
    fonts) echo fontconfig fonts-wqy-microhei ;;
    packages) echo rpm systemd ;;
    promtool) echo prometheus ;;
    buildah) echo buildah ca-certificates ;;
    debian) echo mmdebstrap systemd-container ;;
    sqlite3 | curl | pgbouncer | nginx | haproxy | caddy | victoria-metrics) echo "$1" ;;
  esac
}

brew_package() {
  case $1 in
    cc) ;;
    redis) echo redis ;;
    postgres) echo postgresql@17 ;;
    faketime) echo libfaketime ;;
    mariadb) echo mariadb ;;
    protoc) echo protobuf ;;
    python3) echo python3 ;;
    node) echo node ;;
    chromium) echo --cask chromium ;;
    fonts | packages | buildah | debian) ;;
    promtool) echo prometheus ;;
    victoria-metrics) echo victoriametrics ;;
    curl | pgbouncer | nginx | haproxy | caddy) echo "$1" ;;
    sqlite3) echo sqlite ;;
  esac
}

missing=() debs=() brews=()
for name in "$@"; do
  if ! has "$name"; then
    missing+=("$name")
    read -ra more <<<"$(debian_package "$name")"
    debs+=("${more[@]}")
    read -ra more <<<"$(brew_package "$name")"
    brews+=("${more[@]}")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  {
    echo "Missing: ${missing[*]}. Install and run again:"
    echo "  Debian, Ubuntu   sudo apt-get install ${debs[*]}"
    echo "  macOS            brew install ${brews[*]}"
    echo "  elsewhere        the packages that have $(for n in "${missing[@]}"; do case $n in
      cc) printf 'a C compiler (for the race detector), ' ;;
      redis) printf 'redis-server (7 or newer), ' ;;
      postgres) printf 'the PostgreSQL server with initdb (14 or newer), ' ;;
      mariadb) printf 'the MariaDB server with mariadb-install-db (10.6 or newer), ' ;;
      python3) printf 'Python 3, ' ;;
      protoc) printf 'protoc, ' ;;
      node) printf 'Node (20.19 or newer) with npm, ' ;;
      chromium) printf 'Chromium, in the PATH or where CHROMIUM says, ' ;;
      packages) printf 'rpm and systemd-analyze, ' ;;
      debian) printf 'mmdebstrap and systemd-nspawn, on Debian, ' ;;
      fonts) printf 'a font with Chinese letters, ' ;;
      sqlite3 | curl | pgbouncer | nginx | haproxy | caddy) printf '%s, ' "$n" ;;
    esac; done)as programs in the PATH"
  } >&2
  exit 1
fi

echo "Installing ${debs[*]}"
# Debian asks this program whether a package may start its service.
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
cleanup=("$log")
trap 'rm -f "${cleanup[@]}"' EXIT
if [ ! -e "$policy" ]; then
  cleanup+=("$policy")
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${debs[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "apt-get could not install ${debs[*]}" >&2
  exit 1
fi
for name in "${missing[@]}"; do
  if ! has "$name"; then
    echo "$name is still missing after apt-get install ${debs[*]}" >&2
    exit 1
  fi
done
