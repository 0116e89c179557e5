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

// mostUnserved is how many subscriptions that no rule serves are told one by one.
const mostUnserved = 20

// ConfigWarnings returns warnings about a sound configuration: subscriptions that no rule serves. Rules that cannot be
// read are left to rules check, and a site without rules has business systems alone.
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

// unserved warns of the ledger's subscriptions that no rule of the node serves: the first ones, and how many more there
// are.
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
