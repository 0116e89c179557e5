#!/usr/bin/env bash
# Runs every fuzz target for a while: fuzz.sh DURATION PACKAGE…
set -euo pipefail
duration=$1
shift
for package in $(go list "$@"); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "$package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" "$package"
  done
done
