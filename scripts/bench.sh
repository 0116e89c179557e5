#!/usr/bin/env bash
# Runs benchmarks, one package at a time, and prints what they report: bench.sh PATTERN PACKAGE…
# A ratio compares with the raw library in the same run. The comment of the benchmark names the library.
set -euo pipefail
pattern=$1
shift
# Packages without a benchmark are left out, so that they are not built.
packages=()
while IFS= read -r package; do packages+=("$package"); done < <(
  go list -f '{{$d := .Dir}}{{$p := .ImportPath}}{{range .TestGoFiles}}{{$d}}/{{.}} {{$p}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}} {{$p}}{{"\n"}}{{end}}' "$@" |
    while read -r file package; do
      if [ -n "$file" ] && grep -q '^func Benchmark' "$file"; then echo "$package"; fi
    done | sort -u
)
if [ ${#packages[@]} -eq 0 ]; then
  echo "no benchmark in $*" >&2
  exit 1
fi
go test -run '^$' -bench "$pattern" -benchtime "${BENCHTIME:-3s}" -timeout 60m -p 1 "${packages[@]}" |
  awk -f "$(dirname "$0")/bench.awk"
