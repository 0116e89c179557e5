#!/usr/bin/env bash
# The console and the widget: console.sh build|package|check|test|bench|screenshots. The source is internal/console/web.
# The results of build are committed. check builds again, and compares.
set -euo pipefail
cd "$(dirname "$0")/../internal/console/web"

# The version and the hash of the npm that installs the packages if the installed npm is older than 11.
npm_version=11.21.2
npm_integrity=sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==

# fetch_npm puts that npm into the folder, and fails if the npm from the registry has another hash.
fetch_npm() {
  local tarball="$1/npm-$npm_version.tgz" found
  npm pack "npm@$npm_version" --pack-destination "$1" --silent >/dev/null
  found=sha512-$(node -e 'process.stdout.write(require("crypto").hash("sha512", require("fs").readFileSync(process.argv[1]), "base64"))' "$tarball")
  if [ "$found" != "$npm_integrity" ]; then
    echo "console.sh: npm $npm_version from the registry is $found instead of $npm_integrity" >&2
    return 1
  fi
  tar -xzf "$tarball" -C "$1"
}

# install installs exactly the packages of the lock file. It does nothing if the lock file has not changed since the
# last install.
install() {
  local stamp=node_modules/.tallyman
  if cmp -s package-lock.json "$stamp"; then
    return
  fi
  local npm=(npm) fetched=
  if [ "$(npm --version | cut -d. -f1)" -lt 11 ]; then # an older npm leaves out packages that Vite needs here
    fetched=$(mktemp -d)
    fetch_npm "$fetched"
    npm=(node "$fetched/package/bin/npm-cli.js")
  fi
  echo "Installing the packages of the console"
  "${npm[@]}" ci --no-audit --no-fund --ignore-scripts --loglevel=error
  cp package-lock.json "$stamp"
  [ -z "$fetched" ] || rm -rf "$fetched"
}

# fresh fails if the committed file or folder differs from the one that was made again.
fresh() {
  if ! diff -rq "$1" "$2"; then
    echo "$1 is not fresh: run make console" >&2
    return 1
  fi
}

run() { node_modules/.bin/"$@"; }

build() {
  run openapi-typescript ../../api/testdata/openapi.json --output "$1/schema.d.ts" --alphabetize --default-non-nullable false >/dev/null
  run vite build --outDir "$2" --emptyOutDir --logLevel warn
  run vite build --config vite.widget.config.ts --outDir "$2" --logLevel warn
}

# package writes the files that npm publishes into the folder.
package() {
  rm -rf "$1"
  run vite build --config vite.widget.config.ts --outDir "$1" --logLevel warn
  run vite build --config vite.widget.config.ts --outDir "$1" --logLevel warn --mode package
}

install
case $1 in
  build)
    build src/api ../dist
    ;;
  package)
    package ../../../bin/tallyman-inbox
    ;;
  check)
    run prettier --check --log-level warn .
    run svelte-check --tsconfig ./tsconfig.json --fail-on-warnings --threshold warning
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    build "$made" "$made/dist"
    fresh src/api/schema.d.ts "$made/schema.d.ts"
    fresh ../dist "$made/dist"
    ;;
  test)
    run vitest run
    run vitest run --config vitest.browser.config.ts
    ;;
  bench)
    run vitest run --config vitest.bench.config.ts
    ;;
  screenshots)
    run vitest run --config vitest.screenshots.config.ts
    ;;
  *)
    echo "console.sh: build, package, check, test, bench or screenshots, not $1" >&2
    exit 2
    ;;
esac
