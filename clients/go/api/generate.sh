#!/bin/sh
# Makes the client of the OpenAPI document that the SDK stands on.
# With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=$(cd "${1:-.}" && pwd)
here=$(pwd)
cd ../../../internal/e2e/clients/go
"${GO:-go}" tool oapi-codegen --config "$here/oapi-codegen.yaml" -o "$out/api.gen.go" ../../../api/testdata/openapi.json
