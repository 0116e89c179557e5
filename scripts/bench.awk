# Makes the lines of go test -bench readable: a block for each package, and below the name of a benchmark its measures.
# It prints the measures that a benchmark reports itself. If a benchmark reports none, it prints ns/op and the like.
/^pkg: / { printf "\n%s\n", $2; next }
/^(goos|goarch|cpu): / { if (!seen[$0]++) print; next }
/^Benchmark/ && NF >= 4 {
  name = $1; sub(/-[0-9]+$/, "", name); sub(/^Benchmark/, "", name)
  printf "  %s\n", name
  own = 0
  for (i = 3; i < NF; i += 2) if (!standard($(i + 1))) { line($i, $(i + 1)); own++ }
  if (!own) for (i = 3; i < NF; i += 2) line($i, $(i + 1))
  fflush()
  next
}
/^Benchmark/ { next }        # the name alone, before the benchmark's own output
/^(ok|PASS|\?)/ { next }
{ print; fflush() }          # failures, logs, whatever else

function standard(unit) { return unit == "ns/op" || unit == "B/op" || unit == "allocs/op" || unit == "MB/s" }
function line(value, unit) { printf "    %14s  %s\n", value, unit }
