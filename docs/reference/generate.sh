#!/bin/sh
# Writes the pages of this folder, which come from the code: configuration.md, cli.md, metrics.md, logs.md. With an argument, writes into
# that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
"${GO:-go}" run . "${1:-.}"
