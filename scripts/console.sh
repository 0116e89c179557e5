#!/usr/bin/env bash
# The console and the widget, whose source is internal/console/web: console.sh build|check|test|screenshots.
# What is built is committed; check builds it again and compares.
set -euo pipefail
cd "$(dirname "$0")/../internal/console/web"

# install brings exactly the packages of the lock file, once for each state of it.
install() {
  local stamp=node_modules/.tallyman
  if cmp -s package-lock.json "$stamp"; then
    return
  fi
  local npm=(npm)
  if [ "$(npm --version | cut -d. -f1)" -lt 11 ]; then # older ones leave out what Vite needs of this platform
    npm=(npx --yes npm@11)
  fi
  echo "Installing the packages of the console"
  "${npm[@]}" ci --no-audit --no-fund --ignore-scripts --loglevel=error
  cp package-lock.json "$stamp"
}

# fresh fails where the file or folder that was made again differs from what is committed.
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

install
case $1 in
  build)
    build src/api ../dist
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
  screenshots)
    run vitest run --config vitest.screenshots.config.ts
    ;;
  *)
    echo "console.sh: build, check, test or screenshots, not $1" >&2
    exit 2
    ;;
esac
