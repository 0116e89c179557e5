package rows

import (
	"fmt"
	"strconv"
	"strings"

	"tallyman/internal/ledger"
)

// Briefs reads runs as the statement judged writes them: outcome:µs,…
func Briefs(text string) ([]ledger.Brief, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	list := make([]ledger.Brief, len(parts))
	for i, part := range parts {
		outcome, took, _ := strings.Cut(part, ":")
		us, err := strconv.ParseInt(took, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("ledger: a run took %q: %w", took, err)
		}
		list[i] = ledger.Brief{Took: Span(us), Outcome: ledger.Outcome(outcome)}
	}
	return list, nil
}
