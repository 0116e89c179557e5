#!/usr/bin/env bash
# Checks and tests the packages that have changed since a commit: quick.sh LINT_VERSION. It builds everything, and
# checks format, vet and lint of the changed packages. It tests the changed packages and the packages that import these
# directly, without the tests that take long (go test -short). BASE names the commit. The default is the last commit
# that this branch shares with its upstream branch, or without an upstream branch the last commit. make check and make
# test do everything.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1

base=${BASE:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)}
mapfile -t folders < <({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } |
  grep -E '\.(go|lua|sql|json|ya?ml|golden|txtar)$' | xargs -r -n1 dirname | sed -E 's#/(testdata|scripts|sql|migrations)(/.*)?$##' | sort -u)
changed=()
for folder in "${folders[@]}"; do
  if compgen -G "$folder/*.go" >/dev/null; then changed+=("./$folder"); fi
done
if [ ${#changed[@]} -eq 0 ]; then
  echo "no package has changed since $(git rev-parse --short "$base")"
  exit 0
fi
printf 'changed: %s\n' "${changed[*]}"

go build ./...
"$(scripts/golangci-lint.sh "$version")" run "${changed[@]}"
mapfile -t tested < <(
  paths=$(go list "${changed[@]}")
  echo "$paths"
  go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
    awk -v paths="$paths" 'BEGIN { split(paths, list, "\n"); for (i in list) changed[list[i]] = 1 }
      { for (i = 2; i <= NF; i++) if ($i in changed) { print $1; break } }'
)
mapfile -t tested < <(printf '%s\n' "${tested[@]}" | sort -u)
go test -short -vet=off -parallel 4 -timeout 5m "${tested[@]}" | grep -v 'no test files'
