#!/bin/sh
# Writes the tables of the pages that come from the code.
# With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
for name in rule-reference.md channels.md; do
  go run ./reference <"$name" >"$page"
  cat "$page" >"$out/$name"
done
