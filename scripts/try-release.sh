#!/usr/bin/env bash
# Does with a release on a clean Debian what a site does: install the deb, begin a site, poll the first notice, check
# the site with doctor, restore a backup, purge the package, and upgrade from the recorded version.
#
#   try-release.sh [DEB]     the deb of a release; without DEB, one is made of this folder
#
# The clean Debian comes from the mirror of this machine's apt. Its files are in memory. systemd runs in it, with a
# network of its own, so that no port and no file of this machine is used. The script needs root on Debian. Where
# docs/how-to/install.md has the commands of a step, the script runs these commands.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
arch=$(dpkg --print-architecture)
recorded=$(<internal/e2e/testdata/upgrade_from)

work=$(mktemp -d)
mount -t tmpfs -o size=4g,mode=700 none "$work" # The disk may be nearly full, and doctor warns of that.
root=$work/debian
log=$work/log
booted=
step="prepare"
exec 3>&1 >"$log" 2>&1

cleanup() {
  local code=$?
  if [ "$code" -ne 0 ]; then
    echo "try-release.sh: the step failed: $step. Its output ends with:"
    tail -n 40 "$log"
    [ -z "$booted" ] || { echo "The node's log ends with:"; inside "journalctl --unit tallyman --no-pager --lines 40" || true; }
  fi >&3 2>&1
  # Nothing of the clean Debian is kept, so its first process is killed.
  [ -z "$booted" ] || { kill -KILL "$(leader)"; wait "$booted"; } || true
  jobs -p | xargs --no-run-if-empty kill || true
  wait
  umount --lazy "$work" && rmdir "$work"
}
trap cleanup EXIT

# begin NAME begins a step, and says how long the last step took.
begin() {
  [ "$step" = prepare ] || echo "ok: $step ($((SECONDS - started)) s)" >&3
  step=$1 started=$SECONDS
  echo "--- $step"
}

# debian makes the clean Debian, with the other programs of a small site.
debian() {
  local codename uri
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  uri=$(mirror "$codename")
  [ -n "$uri" ] || { apt-get update && uri=$(mirror "$codename"); }
  mmdebstrap --variant=minbase --include=adduser,ca-certificates,curl,redis-server,sudo,systemd-sysv \
    --aptopt='APT::Get::Assume-Yes "true"' "$codename" "$root" "$uri"
  echo wms-1 >"$root/etc/hostname"
  echo "127.0.0.1 localhost wms-1" >"$root/etc/hosts"
}

# mirror CODENAME prints the address from which apt of this machine gets that Debian.
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $1" | head -n 1; }

# deb SOURCE VERSION FOLDER makes the deb of a copy of the source, as quickly as the caches of this machine allow.
deb() {
  (cd "$1" && "$go" build -o "$3/tallyman" ./cmd/tallyman)
  "$1/scripts/release.sh" tree linux "$arch" "$3/tree" "$3/tallyman"
  "$1/scripts/release.sh" package deb "$2" "$arch" "$3/tree" "$3"
  ls "$3/tallyman_$2"*.deb
}

debs() {
  if [ -n "${1:-}" ]; then
    install -D -t "$work/new" "$1"
  else
    deb "$PWD" "$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/cli/version.go)" "$work/new"
  fi
  git clone --quiet --shared --no-checkout . "$work/source"
  git -C "$work/source" checkout --quiet "$recorded"
  if [ -z "${1:-}" ]; then # The man pages of the old version would take minutes.
    mkdir "$work/texts"
    cp -R "$work"/new/tree/{man,completions} "$work/texts"
    export TEXTS=$work/texts
  fi
  deb "$work/source" 0.0.1 "$work/old"
}

boot() {
  systemd-nspawn --boot --quiet --directory="$root" --register=no --keep-unit --private-network --console=pipe </dev/null &
  booted=$!
  eventually "systemctl is-active multi-user.target"
}

# leader prints the id of the first process of the clean Debian.
leader() { cut -d ' ' -f 1 "/proc/$booted/task/$booted/children"; }

# inside LINES runs lines in the clean Debian, as root and in root's folder.
inside() {
  nsenter --target "$(leader)" --mount --uts --ipc --net --pid --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive bash -euxo pipefail -c 'cd; [ ! -e environment ] || . ./environment'$'\n'"$1" </dev/null
}

# page HEADING prints the commands below a heading of docs/how-to/install.md. The name of the deb replaces the name in
# the example.
page() {
  local lines
  lines=$(awk -v heading="$1" '/^#/ && !code { here = $0 == heading } /^ *```/ { code = !code; shell = /```sh/; next } here && code && shell' docs/how-to/install.md)
  [ -n "$lines" ] || { echo "docs/how-to/install.md has no commands below: $1"; return 1; }
  sed 's#\./tallyman_[0-9a-z.]*_[0-9a-z]*\.deb#./tallyman.deb#' <<<"$lines"
}

# put VERSION puts the new or the old deb into root's folder.
put() { cp "$work/$1"/tallyman_*.deb "$root/root/tallyman.deb"; }

# eventually LINE runs a line in the clean Debian until the line succeeds, for at most 60 s.
eventually() {
  local end=$((SECONDS + 60))
  until inside "$1"; do
    [ "$SECONDS" -lt "$end" ] || { echo "After 60 s this still fails: $1"; return 1; }
    sleep 0.2
  done
}

# polls succeeds if the inbox of the keepers has the first notice, and shows the page.
polls='curl --fail --silent --show-error --header "Authorization: Bearer $TALLYMAN_TOKEN" \
  "$TALLYMAN_SERVER/api/v1/notices?warehouse=119240&subscriber=role:keeper" | tee /dev/stderr | grep -q "\"rule\":\"negative-bin-stock\""'

# kept prints the things that an upgrade must keep. running prints the hash of the node's program.
kept='sha256sum /etc/tallyman/*.yaml /etc/tallyman/rules/*
tallyman tokens list | grep --only-matching "^t_[a-z0-9]*"
tallyman notices list --warehouse 119240 --subscriber role:keeper | grep --only-matching "^n_[a-z0-9]*"'
running='sha256sum </proc/"$(systemctl show --property MainPID --value tallyman)"/exe'

site() { inside "$(page '### Begin a site')"; echo 'export TALLYMAN_SERVER=http://127.0.0.1:8080 TALLYMAN_TOKEN="$(cat admin.token)"' >"$root/root/environment"; }

first_notice() {
  inside "tallyman rules run negative-bin-stock"
  eventually "$polls"
}

# doctor checks a site as the user of the node. A line that is not ok is a failure. A sandbox may allow only 20,000 open
# files, even to root. That is too few for the default of http.max_streams.
doctor() {
  inside 'sudo --user tallyman --preserve-env=TALLYMAN_SERVER,TALLYMAN_TOKEN tallyman doctor --config /etc/tallyman/tallyman.yaml --set http.max_streams=10000' |
    tee "$work/doctor"
  grep -qx '0 wrong, 0 warnings' "$work/doctor"
}

begin "make a clean Debian, and the debs of this version and of ${recorded:0:12}"
debian &
bootstrap=$!
debs "$@"
wait "$bootstrap"
boot

begin "install the deb: the node serves the packaged configuration as it is"
put new
inside "$(page '## Install the deb')"
inside 'systemctl is-enabled tallyman; test -z "$(dpkg --verify tallyman)"'

begin "begin a site with tallyman init, and change it"
site
inside "$(page '### Change the site')"

begin "poll the first notice"
first_notice

begin "tallyman doctor: each line is ok"
doctor

begin "restore a backup: the node notices the restore, and serves what the backup has"
inside 'sudo --user tallyman tallyman backup /var/lib/tallyman/backup.db --config /etc/tallyman/tallyman.yaml
tallyman tokens create --subject user:late --access viewer --out late.token
tallyman notices send --type REP_NOTICE --warehouse 119240 --data bin=A-01
systemctl stop tallyman
cd /var/lib/tallyman
rm -f tallyman.db tallyman.db-*
sudo --user tallyman cp backup.db tallyman.db
sudo --user tallyman tallyman ledger verify --config /etc/tallyman/tallyman.yaml
systemctl start tallyman'
eventually "tallyman audit list --action ledger.restored | grep ledger.restored"
eventually "$polls"
inside 'tallyman tokens list >tokens; grep user:ann tokens; ! grep user:late tokens'

begin "purge the package: nothing of it stays"
inside "$(page '### Remove the package')"
inside 'rm -r site admin.token; for path in /etc/tallyman /var/lib/tallyman /usr/bin/tallyman; do test ! -e "$path"; done; redis-cli flushall'
rm "$root/root/environment"

begin "install the recorded version, with a site and a notice"
put old
inside "$(page '## Install the deb')"
site
first_notice
before=$(inside "$kept") program=$(inside "$running")

begin "upgrade to this version: configuration, tokens and notices are kept"
put new
inside "$(page '### Upgrade the deb')"
[ "$(inside "$running")" != "$program" ] || { echo "The node still runs the recorded version."; exit 1; }
eventually "$polls"
diff <(echo "$before") <(inside "$kept")
doctor
begin "end"
