// Command roundtrip calls the server of TALLYMAN_URL with the token of TALLYMAN_TOKEN. It uses the Go client that
// oapi-codegen generates from the OpenAPI document. scripts/clients.sh generates the folder client, which is not
// committed.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"tallyman/internal/e2e/clients/go/client"
)

const (
	noticeType = "GO_NOTICE"
	warehouse  = "119240"
	subscriber = "user:go"
	queue      = "replenishment"
	item       = "go-1"
	rule       = "empty-bin"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "go client:", err)
		os.Exit(1)
	}
	fmt.Println("go client: all is well")
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("TALLYMAN_TOKEN"))
		return nil
	}
	c, err := client.NewClientWithResponses(os.Getenv("TALLYMAN_URL"), client.WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context, *client.ClientWithResponses) error
	}{
		{"catalogue", catalogue}, {"notices", notices}, {"queue", work}, {"rules", rules}, {"problems", problems},
	} {
		if err := step.do(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// catalogue adds a type and a subscription, and finds both again.
func catalogue(ctx context.Context, c *client.ClientWithResponses) error {
	names := map[string]string{"zh": "测试"}
	fields := map[string]client.Field{"bin": {Type: "string"}, "qty": {Type: "int"}}
	made, err := c.CreateTypeWithResponse(ctx, client.Type{Code: noticeType, Id: 4001, Name: "A notice of Go", Names: &names, Fields: &fields})
	if err != nil || made.JSON201 == nil || (*made.JSON201.Names)["zh"] != "测试" {
		return unexpected("create-type", made, err)
	}
	types, err := c.ListTypesWithResponse(ctx)
	if err != nil || types.JSON200 == nil || len(types.JSON200.Types) < 2 {
		return unexpected("list-types", types, err)
	}
	subscription := client.Subscription{Type: noticeType, Warehouse: warehouse, Subscriber: subscriber}
	added, err := c.CreateSubscriptionWithResponse(ctx, subscription)
	if err != nil || added.JSON201 == nil || *added.JSON201 != subscription {
		return unexpected("create-subscription", added, err)
	}
	list, err := c.ListSubscriptionsWithResponse(ctx, &client.ListSubscriptionsParams{Subscriber: new(subscriber), Limit: new(10)})
	if err != nil || list.JSON200 == nil || len(list.JSON200.Subscriptions) != 1 {
		return unexpected("list-subscriptions", list, err)
	}
	return nil
}

// notices sends a notice, polls it, and marks it as read. A poll after the cursor then returns only this change, and
// the next poll finds nothing new.
func notices(ctx context.Context, c *client.ClientWithResponses) error {
	data := map[string]any{"bin": "A-01", "qty": 3}
	sent, err := c.SendNoticesWithResponse(ctx, &client.SendNoticesParams{IdempotencyKey: new("go-1")}, client.Send{Notices: []client.SendNotice{
		{Type: new(noticeType), Warehouse: warehouse, Title: new("Bin A-01"), Data: &data, Labels: &map[string]string{"area": "test"}},
	}})
	if err != nil || sent.JSON201 == nil || len(sent.JSON201.Notices) != 1 {
		return unexpected("send-notices", sent, err)
	}
	poll := &client.PollNoticesParams{Warehouse: new(warehouse), Subscriber: &[]string{subscriber, "role:go"}, Limit: new(5), Wait: new("30s")}
	page, err := c.PollNoticesWithResponse(ctx, poll)
	if err != nil || page.JSON200 == nil || len(page.JSON200.Notices) != 1 {
		return unexpected("poll-notices", page, err)
	}
	n := page.JSON200.Notices[0]
	if n.Id != sent.JSON201.Notices[0].Id || n.Title != "Bin A-01" || n.Episode == "" || n.Status != client.NoticeStatusSent || n.Data["qty"] != 3.0 ||
		n.Labels["area"] != "test" || time.Since(n.CreatedAt) > time.Minute || n.Read {
		return fmt.Errorf("the notice is %+v", n)
	}
	read, err := c.ReadNoticeWithResponse(ctx, n.Id, &client.ReadNoticeParams{Warehouse: new(warehouse), Subscriber: &[]string{subscriber}})
	if err != nil || read.StatusCode() != http.StatusNoContent {
		return unexpected("read-notice", read, err)
	}
	poll.After, poll.Wait = &page.JSON200.Cursor, nil
	next, err := c.PollNoticesWithResponse(ctx, poll)
	if err != nil || next.JSON200 == nil || len(next.JSON200.Changes) != 1 || next.JSON200.Changes[0] != (client.NoticeChange{Id: n.Id, Kind: client.NoticeChangeKindRead}) {
		return unexpected("poll-notices after the cursor", next, err)
	}
	poll.After, poll.IfNoneMatch = &next.JSON200.Cursor, next.Headers200.ETag
	same, err := c.PollNoticesWithResponse(ctx, poll)
	if err != nil || same.StatusCode() != http.StatusNotModified {
		return unexpected("poll-notices with an ETag", same, err)
	}
	return nil
}

// work pushes an item, leases it and acks it. A second ack is refused.
func work(ctx context.Context, c *client.ClientWithResponses) error {
	pushed, err := c.PushItemsWithResponse(ctx, queue, nil, client.Push{Items: []client.PushItem{
		{Id: new(item), Payload: map[string]any{"bin": "A-01"}, Priority: new(int64(4))},
	}})
	if err != nil || pushed.JSON200 == nil {
		return unexpected("push-items", pushed, err)
	}
	leased, err := c.LeaseItemsWithResponse(ctx, queue, client.Lease{Worker: "go", Max: new(int64(1)), Wait: new("10s"), Lease: new("60s")})
	if err != nil || leased.JSON200 == nil || len(leased.JSON200.Items) != 1 {
		return unexpected("lease-items", leased, err)
	}
	got := leased.JSON200.Items[0]
	if payload, _ := got.Payload.(map[string]any); got.Id != item || payload["bin"] != "A-01" || got.Priority != 4 {
		return fmt.Errorf("the item is %+v", got)
	}
	acked, err := c.AckItemWithResponse(ctx, queue, got.Id, client.ItemOp{Attempt: &got.Attempt, Worker: new("go")})
	if err != nil || acked.JSON200 == nil {
		return unexpected("ack-item", acked, err)
	}
	late, err := c.AckItemWithResponse(ctx, queue, got.Id, client.ItemOp{Attempt: &got.Attempt})
	if err != nil || late.ApplicationproblemJSON4XX == nil || late.ApplicationproblemJSON4XX.Code != "lease_lost" {
		return unexpected("ack-item again", late, err)
	}
	return nil
}

// rules disables a rule, checks that the rule is disabled, and clears the switch.
func rules(ctx context.Context, c *client.ClientWithResponses) error {
	list, err := c.ListRulesWithResponse(ctx, &client.ListRulesParams{Limit: new(1), Id: &[]string{rule}})
	if err != nil || list.JSON200 == nil || len(list.JSON200.Rules) != 1 || list.JSON200.Rules[0].Id != rule {
		return unexpected("list-rules", list, err)
	}
	stopped, err := c.DisableRuleWithResponse(ctx, rule, nil, client.SwitchAsk{For: new("1h"), Reason: new("the Go client tries it")})
	if err != nil || stopped.JSON200 == nil {
		return unexpected("disable-rule", stopped, err)
	}
	shown, err := c.GetRuleWithResponse(ctx, rule)
	if err != nil || shown.JSON200 == nil || len(shown.JSON200.Scopes) != 1 || shown.JSON200.Scopes[0].Enabled || *shown.JSON200.Scopes[0].Switch.Reason != "the Go client tries it" {
		return unexpected("get-rule", shown, err)
	}
	cleared, err := c.ClearRuleWithResponse(ctx, rule, nil)
	if err != nil || cleared.JSON200 == nil {
		return unexpected("clear-rule", cleared, err)
	}
	return nil
}

// problems checks that a refused request has a code, and that each fault of a bad request has a place.
func problems(ctx context.Context, c *client.ClientWithResponses) error {
	again, err := c.CreateTypeWithResponse(ctx, client.Type{Code: noticeType, Id: 4002, Name: "Another one"})
	if err != nil || again.StatusCode() != http.StatusConflict || again.ApplicationproblemJSON4XX == nil || again.ApplicationproblemJSON4XX.Code != "type_exists" {
		return unexpected("create-type again", again, err)
	}
	bad, err := c.CreateTypeWithResponse(ctx, client.Type{Code: "GO BAD", Id: 0, Name: ""})
	if err != nil || bad.ApplicationproblemJSON4XX == nil || bad.ApplicationproblemJSON4XX.Errors == nil {
		return unexpected("create-type with faults", bad, err)
	}
	for _, fault := range *bad.ApplicationproblemJSON4XX.Errors {
		if fault.Location == nil || *fault.Location == "" || fault.Message == "" {
			return fmt.Errorf("a fault without a place: %+v", fault)
		}
	}
	return nil
}

// answer has the methods of every generated response.
type answer interface {
	StatusCode() int
	GetBody() []byte
}

func unexpected(operation string, a answer, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return errors.New(operation + fmt.Sprintf(" answers %d %s", a.StatusCode(), a.GetBody()))
}
