#!/usr/bin/env bash
# Prints the path of golangci-lint in exactly the given version: golangci-lint.sh VERSION. This is the program in the
# PATH, or else the program in bin/. If bin/ does not have that version, the script builds it first (about two minutes).
set -euo pipefail
version=$1
bin="$(cd "$(dirname "$0")/.." && pwd)/bin"

for candidate in "$(command -v golangci-lint || true)" "$bin/golangci-lint"; do
  if [ -x "$candidate" ] && "$candidate" version 2>/dev/null | grep -qF "version $version "; then
    echo "$candidate"
    exit 0
  fi
done
echo "Building golangci-lint $version" >&2
GOBIN=$bin "${GO:-go}" install -mod=mod -ldflags="-s -w" "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version" >&2
echo "$bin/golangci-lint"
