package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// Orders of rules top.
const (
	bySlowest = "slowest"
	byNoisy   = "noisiest"
	byFailing = "failing"
)

func (c ruleCommands) top() *cobra.Command {
	var by string
	var limit int
	cmd := c.withServer(&cobra.Command{
		Use:   "top",
		Short: "List the rules that are slowest, make most notices, or fail most",
		Long: `List the rules that are slowest, make most notices, or fail most, each scope by itself.

TOOK and SLOWEST are the median and the longest duration of the last 20 runs, FAILED is how many of these failed or were degraded. NOTICES/H is how many notices an
hour the rule made in the runs that the ledger keeps: the last 100 of each rule and scope, or more.`,
		Example: `  tallyman rules top
  tallyman rules top --by noisiest --limit 5`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			order := topOrders[by]
			if order == nil {
				return usage("--by takes %s, %s or %s, not %q", bySlowest, byNoisy, byFailing, by)
			}
			if limit < 1 {
				return usage("--limit must be at least 1")
			}
			form, err := c.client().listRules(cmd.Context())
			if err != nil {
				return err
			}
			list := ranked(form, time.Now())
			slices.SortStableFunc(list, order)
			list = list[:min(limit, len(list))]
			return c.print(list, func(w io.Writer) { writeTop(w, c.width(), list) })
		},
	})
	cmd.Flags().StringVar(&by, "by", bySlowest, "slowest, noisiest or failing")
	cmd.Flags().IntVar(&limit, "limit", 10, "how many at most")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{bySlowest, byNoisy, byFailing}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// rankedRule is a rule in a scope, with the numbers that rules top compares.
type rankedRule struct {
	Rule           string  `json:"rule"`
	Scope          string  `json:"scope"`
	TookMS         int64   `json:"tookMs"`
	SlowestMS      int64   `json:"slowestMs"`
	Failed         int     `json:"failed"`
	Runs           int     `json:"runs"` // the last runs; Failed of them failed or were degraded
	NoticesPerHour float64 `json:"noticesPerHour"`
}

// topOrders are the orders of rules top. The rule with the largest number comes first.
var topOrders = map[string]func(a, b rankedRule) int{
	bySlowest: func(a, b rankedRule) int {
		return cmp.Or(cmp.Compare(b.TookMS, a.TookMS), cmp.Compare(b.SlowestMS, a.SlowestMS))
	},
	byNoisy:   func(a, b rankedRule) int { return cmp.Compare(b.NoticesPerHour, a.NoticesPerHour) },
	byFailing: func(a, b rankedRule) int { return cmp.Compare(b.failedShare(), a.failedShare()) },
}

func (r rankedRule) failedShare() float64 { return float64(r.Failed) / float64(max(r.Runs, 1)) }

// ranked returns all scopes of the rules that have run.
func ranked(form *wire.RulesForm, now time.Time) []rankedRule {
	list := []rankedRule{}
	for i := range form.Rules {
		for _, s := range form.Rules[i].Scopes {
			recent := s.Recent
			if recent == nil {
				continue
			}
			r := rankedRule{Rule: form.Rules[i].ID, Scope: s.Scope, Runs: len(recent.Outcomes), Failed: len(recent.Outcomes) - strings.Count(recent.Outcomes, "o")}
			r.TookMS, r.SlowestMS = durations(recent)
			if hours := now.Sub(recent.First).Hours(); hours > 0 {
				r.NoticesPerHour = float64(recent.Notices) / max(hours, 1.0/60) // A shorter time counts as a minute.
			}
			list = append(list, r)
		}
	}
	return list
}

// durations returns the median and the longest duration of the last runs, in ms.
func durations(recent *wire.Recent) (median, longest int64) {
	if recent == nil || len(recent.DurationsMS) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(recent.DurationsMS))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}

func millis(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func writeTop(w io.Writer, width int, list []rankedRule) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No rule has run.")
		return
	}
	header := []string{"RULE", "SCOPE", "TOOK", "SLOWEST", "FAILED", "NOTICES/H"}
	rows := make([][]string, len(list))
	for i, r := range list {
		rows[i] = []string{
			r.Rule, orDash(r.Scope), millis(r.TookMS), millis(r.SlowestMS), fmt.Sprintf("%d of %d", r.Failed, r.Runs), strconv.FormatFloat(r.NoticesPerHour, 'f', 1, 64),
		}
	}
	terminal.Spread(w, width, header, rows, header)
}
