package app

import (
	"context"
	"fmt"

	"tallyman/internal/api/operate"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
)

// mostUnserved is the largest number of unserved subscriptions that are listed one by one.
const mostUnserved = 20

// ConfigWarnings returns warnings about a valid configuration: subscriptions that no rule serves. ConfigWarnings
// returns none where the rules have problems, because `tallyman rules check` reports these. ConfigWarnings returns none
// without rules either: then only business systems send notices.
func ConfigWarnings(cfg *config.Config) problem.List {
	set := rules.Load(cfg.Rules.Paths)
	if len(set.Problems) > 0 || len(set.Rules) == 0 {
		return nil
	}
	reach := rules.NewReach(set.Rules)
	var list problem.List
	for i, s := range cfg.Subscriptions.Seed {
		if warning := operate.Unserved(reach, s.Type, s.Warehouse); warning != "" {
			message := fmt.Sprintf("subscriptions[%d]: %s %s %s%s", i, s.Type, s.Warehouse, s.Subscriber, warning[len(operate.CodeUnserved):])
			list = append(list, cfg.Problem(fmt.Sprintf("subscriptions[%d]", i), operate.CodeUnserved, message, ""))
		}
	}
	return list
}

// unserved warns of subscriptions in the ledger that no rule of the node serves. unserved lists the first ones and
// counts the rest.
func (a *App) unserved(ctx context.Context) ([]string, error) {
	if len(a.engine.InForce()) == 0 {
		return nil, nil
	}
	subs, err := a.ledger.Subscriptions(ctx, ledger.SubscriptionFilter{})
	if err != nil {
		return nil, err
	}
	var list []string
	more := 0
	for _, s := range subs {
		warning := operate.Unserved(a.engine.Reach(), s.Type, s.Warehouse)
		switch {
		case warning == "":
		case len(list) < mostUnserved:
			list = append(list, fmt.Sprintf("%s: %s %s %s%s", operate.CodeUnserved, s.Type, s.Warehouse, s.Subscriber, warning[len(operate.CodeUnserved):]))
		default:
			more++
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("%s: %d more subscriptions; GET /api/v1/subscriptions has all of them", operate.CodeUnserved, more))
	}
	return list, nil
}
