#!/bin/sh
# Makes the types of the OpenAPI document that the SDK stands on.
# With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=$(cd "${1:-.}" && pwd)
../../../scripts/clients.sh types "$out/schema.ts"
