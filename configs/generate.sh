#!/bin/sh
# Writes rule.schema.json, the JSON Schema of rule files, beside itself or into the folder that is its argument.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
cd "$here/.."
"${GO:-go}" run ./cmd/tallyman rules schema > "$out/rule.schema.json"
