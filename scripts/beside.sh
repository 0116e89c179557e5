#!/usr/bin/env bash
# Runs a command line beside another command: beside.sh "LINE" COMMAND ARG…. Both wait for servers and timers much of
# the time. The output of LINE is printed once both have ended. The status is 0 if both have succeeded.
set -euo pipefail
line=$1
shift

said=$(mktemp)
trap 'rm -f "$said"' EXIT
bash -c "$line" >"$said" 2>&1 &
beside=$!
status=0
"$@" || status=$?
wait "$beside" || status=$?
cat "$said"
exit $status
