#!/bin/sh
# Writes the tables of rule-file.md that come from the code.
# With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
go run . <rule-file.md >"$page"
cat "$page" >"$out/rule-file.md"
