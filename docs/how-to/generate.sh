#!/bin/sh
# Writes the tables of channels.md that come from the code.
# With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
go run ../reference <channels.md >"$page"
cat "$page" >"$out/channels.md"
