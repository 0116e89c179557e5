#!/usr/bin/env bash
# Runs every generate.sh of the tree. With --check it changes nothing, and fails if a result differs from the committed
# file. A generate.sh writes into its own folder, or into the folder that is its argument.
set -euo pipefail
cd "$(dirname "$0")/.."

stale=0
while IFS= read -r script; do
  if [ "${1:-}" != --check ]; then
    echo "$script"
    sh "$script"
    continue
  fi
  out=$(mktemp -d)
  sh "$script" "$out"
  for file in "$out"/*; do
    if ! diff -u "$(dirname "$script")/$(basename "$file")" "$file"; then
      stale=1
    fi
  done
  rm -rf "$out"
done < <(find . -name generate.sh -not -path './scripts/*' -not -path './bin/*' | sort)
if [ $stale -ne 0 ]; then
  echo "generated code is not fresh: run make generate" >&2
fi
exit $stale
