#!/usr/bin/env bash
# Checks and builds the SDKs, and the clients that others generate from the OpenAPI document:
#
#   clients.sh lint                    checks the committed document against the recommended rules of Redocly
#   clients.sh build DOCUMENT FOLDER   generates a Go and a TypeScript client from a document, compiles both strictly,
#                                      and makes programs that use them: FOLDER/go/roundtrip and
#                                      FOLDER/typescript/out/roundtrip.js
#   clients.sh check                   does lint and build with the committed document, and compiles the TypeScript SDK
#                                      with its tests; checks the go.mod of the Go SDK and of the Go client
#   clients.sh types FILE              writes the types of the TypeScript SDK
#   clients.sh sdk FOLDER              packs the TypeScript SDK as npm would publish it, unpacks the SDK in FOLDER, and
#                                      compiles FOLDER, a project that uses the SDK
#   clients.sh test                    runs the tests of the SDKs
#
# Generated clients stay in FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."
document=$PWD/internal/api/testdata/openapi.json
clients=$PWD/internal/e2e/clients
npm_folder=$PWD/clients/typescript
contract=$clients/typescript
go_sdk=$PWD/clients/go

# install installs exactly the packages of the lock file. It does nothing if the lock file has not changed since.
install() {
  local stamp=$npm_folder/node_modules/.tallyman
  if cmp -s "$npm_folder/package-lock.json" "$stamp"; then
    return
  fi
  npm --prefix "$npm_folder" ci --no-audit --no-fund --ignore-scripts --loglevel=error
  cp "$npm_folder/package-lock.json" "$stamp"
}

# run runs a program of the installed packages, without telemetry and without a search for updates.
run() { REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true "$npm_folder/node_modules/.bin/$@"; }

# quietly runs a command, and shows its output only if the command fails.
quietly() {
  local said
  said=$("$@" 2>&1) || { echo "$said" >&2; return 1; }
}

# Warnings are errors.
lint() { quietly run redocly lint --config "$contract/redocly.yaml" --max-problems 20 "$document" ; }

build_typescript() {
  local to=$2/typescript
  mkdir -p "$to"
  cp "$contract"/{tsconfig.json,roundtrip.ts} "$npm_folder/package.json" "$to"
  ln -sfn "$npm_folder/node_modules" "$to/node_modules"
  quietly run openapi-typescript "$1" --output "$to/schema.d.ts"
  run tsc --project "$to"
}

build_go() {
  local to=$2/go
  mkdir -p "$to/client"
  cp "$clients"/go/{go.mod,go.sum,main.go,oapi-codegen.yaml} "$to"
  (
    cd "$to"
    "${GO:-go}" tool oapi-codegen --config oapi-codegen.yaml "$1"
    "${GO:-go}" vet ./...
    "${GO:-go}" build -o roundtrip .
  )
}

build() {
  build_typescript "$@" &
  local typescript=$!
  build_go "$@"
  wait "$typescript"
}

types() { quietly run openapi-typescript "$document" --alphabetize --default-non-nullable false --output "$1"; }

# sdk makes FOLDER/node_modules/tallyman-client, with its dependencies beside it, and compiles FOLDER.
sdk() {
  local packed
  mkdir -p "$1/node_modules/tallyman-client"
  packed=$(cd "$npm_folder" && npm pack --silent --pack-destination "$1")
  tar -xzf "$1/$packed" -C "$1/node_modules/tallyman-client" --strip-components 1
  ln -sfn "$npm_folder"/node_modules/{openapi-fetch,openapi-typescript-helpers,@types} "$1/node_modules"
  run tsc --project "$1"
}

install
case $1 in
  lint) lint ;;
  build) build "$2" "$3" ;;
  types) types "$2" ;;
  sdk) sdk "$2" ;;
  test)
    npm --prefix "$npm_folder" test --silent
    cd "$go_sdk"
    "${GO:-go}" test -vet=off ./...
    ;;
  check)
    lint
    run tsc --noEmit --project "$npm_folder/tsconfig.test.json"
    (cd "$go_sdk" && "${GO:-go}" mod tidy -diff)
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    build "$document" "$made"
    cd "$made/go"
    "${GO:-go}" mod tidy -diff
    ;;
  *)
    echo "clients.sh: lint, build, types, sdk, check or test, not $1" >&2
    exit 2
    ;;
esac
