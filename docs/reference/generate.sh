#!/bin/sh
# Writes the pages of this folder, which come from the code: configuration.md, cli.md, metrics.md and logs.md as a whole, and the
# tables of rule-file.md. With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"${GO:-go}" run . "$out"
"${GO:-go}" run . <rule-file.md >"$page"
cat "$page" >"$out/rule-file.md"
