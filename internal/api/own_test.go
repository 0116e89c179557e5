package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// TestRunsOfOthersTellNoData: a caller for one warehouse reads a rule whose runs in two warehouses have met bad rows.
func TestRunsOfOthersTellNoData(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	b.deps.Rules, b.deps.History, b.deps.RuleFiles, b.deps.Auth = f, f, ruleFiles, somePeople()
	run := func(scope, bin string) *ledger.Run {
		return &ledger.Run{
			Rule: "negative-bin-stock", Scope: scope, Outcome: ledger.OutcomeFailed, Errored: 3,
			Error: `scan_failed: invalid input: "` + bin + `"`, Samples: []string{`["` + bin + `"]: division by zero`},
		}
	}
	mine, theirs := run("119240", "MINE"), run("119241", "THEIRS")
	f.scopes[0].LastRun, f.scopes[1].LastRun, f.runs = mine, theirs, []ledger.Run{*mine, *theirs}
	b.deps.Status = func(context.Context) (wire.StatusReport, error) {
		return wire.StatusReport{Rules: []wire.RuleStatus{
			{ID: "negative-bin-stock", Scope: "119240", LastRun: view.NewRunStatus(mine)},
			{ID: "negative-bin-stock", Scope: "119241", LastRun: view.NewRunStatus(theirs)},
			{ID: "without-scopes", LastRun: view.NewRunStatus(theirs)},
		}}, nil
	}
	b.api = newAPI(&b.deps)
	for _, c := range []struct{ method, path string }{
		{"GET", "/rules"},
		{"GET", "/rules/negative-bin-stock"},
		{"GET", "/rules/negative-bin-stock/runs"},
		{"GET", "/status"},
		{"POST", "/rules/negative-bin-stock/disable?scope=119240"},
	} {
		got := b.handleBody(t, c.method, "/api/v1"+c.path, "", "Authorization", "Bearer site")
		codeAlone := strings.Contains(got.body, `"error":"scan_failed"`) // of the rule without scopes
		if got.status != 200 || strings.Contains(got.body, "THEIRS") || strings.Contains(got.body, "119241") || strings.Count(got.body, "MINE") != 2 || codeAlone != (c.path == "/status") {
			t.Errorf("%s answers %d %s", c.path, got.status, got.body)
		}
		if got := b.handleBody(t, c.method, "/api/v1"+c.path, "", "Authorization", "Bearer admin"); strings.Count(got.body, "THEIRS") < 2 {
			t.Errorf("an admin of all warehouses gets %s", got.body)
		}
	}
}

// people are identities by the bearer token of their name.
type people map[string]auth.Identity

func (p people) Authenticate(r *http.Request) (auth.Identity, error) {
	who, ok := p[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		return auth.Identity{}, auth.ErrBadToken
	}
	return who, nil
}

func somePeople() people {
	own := func(access ...auth.Role) auth.Identity {
		return auth.Identity{Subject: "user:ann", Access: access, Subscribers: []string{"role:keeper", "user:ann"}, Warehouses: []string{"W1"}}
	}
	everywhere := []string{"*"}
	two := own(auth.Client)
	two.Warehouses = []string{"W1", "W2"}
	kiosk := auth.Identity{Subject: "service:kiosk", Access: []auth.Role{auth.Client}, Subscribers: []string{"role:keeper"}, Warehouses: []string{"W1"}}
	return people{
		"client": own(auth.Client), "two": two, "kiosk": kiosk, "nowhere": {Subject: "user:eve", Access: []auth.Role{auth.Client}, Subscribers: []string{"user:eve"}},
		"service":  {Subject: "service:wms", Access: []auth.Role{auth.Service}, Warehouses: []string{"W1"}},
		"viewer":   {Subject: "user:vic", Access: []auth.Role{auth.Viewer}, Warehouses: everywhere},
		"admin":    {Subject: "user:root", Access: []auth.Role{auth.Admin}, Warehouses: everywhere},
		"site":     {Subject: "user:sue", Access: []auth.Role{auth.Operator}, Warehouses: []string{"119240"}},
		"producer": {Subject: "service:erp", Access: []auth.Role{auth.Producer}, Warehouses: []string{"119240"}},
		"chief":    {Subject: "user:cid", Access: []auth.Role{auth.Admin}, Warehouses: []string{"W1"}},
	}
}

// asking is a request of a caller, and a part of the expected answer.
type asking struct {
	who, method, path, body string
	status                  int
	want                    string
}

func (b *bundle) ask(t *testing.T, list []asking) {
	t.Helper()
	for _, a := range list {
		got := b.handleBody(t, a.method, "/api/v1"+a.path, a.body, "Authorization", "Bearer "+a.who)
		if got.status != a.status || !strings.Contains(got.body, a.want) {
			t.Errorf("%s: %s %s answers %d %s; want %d with %s", a.who, a.method, a.path, got.status, got.body, a.status, a.want)
		}
	}
}

func asPeople(d *parts) { d.Auth = somePeople() }

func TestPollsAreOfOnesOwn(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople)
	const warehouse, subscriber, missing = "warehouse_denied", "subscriber_denied", "missing_parameter"
	b.ask(t, []asking{
		{"client", "GET", "/notices", "", 200, ""},
		{"client", "GET", "/notices?warehouse=W1&subscriber=user:ann", "", 200, ""},
		{"client", "GET", "/notices?warehouse=W2", "", 403, warehouse},
		{"client", "GET", "/notices?subscriber=user:bob", "", 403, subscriber},
		{"client", "GET", "/notices?subscriber=user:ann&subscriber=role:boss", "", 403, `your token does not have the inbox of role:boss; your token has role:keeper, user:ann`},
		{"client", "GET", "/notices?subscriber=shadow:rule", "", 403, subscriber},
		{"client", "GET", "/notices?subscriber=USER:ann", "", 400, "bad_subscriber"},
		{"two", "GET", "/notices", "", 400, "parameter warehouse is missing; your token has W1, W2"},
		{"two", "GET", "/notices?warehouse=W2", "", 200, ""},
		{"nowhere", "GET", "/notices", "", 400, missing},
		{"nowhere", "GET", "/notices?warehouse=W1", "", 403, warehouse},
		{"service", "GET", "/notices", "", 400, missing},
		{"service", "GET", "/notices?subscriber=user:bob&subscriber=role:boss", "", 200, ""},
		{"service", "GET", "/notices?subscriber=shadow:rule", "", 403, subscriber},
		{"service", "GET", "/notices?warehouse=W2&subscriber=user:bob", "", 403, warehouse},
		{"viewer", "GET", "/notices?warehouse=W2&subscriber=user:bob", "", 403, subscriber},
		{"viewer", "GET", "/notices?warehouse=W2&subscriber=shadow:rule", "", 200, ""},
		{"admin", "GET", "/notices?warehouse=W2&subscriber=user:bob", "", 200, ""},
		{"admin", "GET", "/notices?warehouse=W2", "", 400, missing},
		{"client", "GET", "/legacy/listNotifications", "", 200, "<whId>W1</whId>"},
		{"client", "GET", "/legacy/listNotifications?whId=W1&subscriberIdList=ann,role:keeper", "", 200, ""},
		{"client", "GET", "/legacy/listNotifications?subscriberIdList=bob", "", 403, subscriber},
		{"client", "GET", "/legacy/listNotifications?whId=W2", "", 403, warehouse},
		{"client", "GET", "/notices/summary?subscriber=user:bob", "", 403, subscriber},
		{"client", "GET", "/notices/summary?warehouse=W2", "", 403, warehouse},
		{"client", "GET", "/notices/stream?subscriber=user:bob", "", 403, subscriber},
		{"client", "GET", "/notices/stream?warehouse=W2", "", 403, warehouse},
		{"stranger", "GET", "/notices", "", 401, "token_invalid"},
	})
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	for _, q := range b.inbox.queries {
		if q.Warehouse == "" || len(q.Subscribers) == 0 {
			t.Errorf("the inbox was asked for %+v", q)
		}
	}
}

func TestMarksAreOnesOwn(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople)
	b.ask(t, []asking{
		{"client", "POST", "/notices/n_1/read?subscriber=user:bob", "", 403, "subscriber_denied"},
		{"client", "POST", "/notices/n_1/ack?warehouse=W2", "", 403, "warehouse_denied"},
		{"client", "POST", "/notices/read-all", `{"upTo":"c0","subscribers":["user:bob"]}`, 403, "subscriber_denied"},
		{"kiosk", "POST", "/notices/n_1/read", "", 400, "bad_subscriber"},
		{"service", "POST", "/notices/n_1/read", "", 400, "missing_parameter"},
		{"service", "POST", "/notices/n_1/read?subscriber=user:bob&warehouse=W2", "", 403, "warehouse_denied"},
		{"viewer", "POST", "/notices/n_1/read?warehouse=W1&subscriber=user:vic", "", 403, "role_missing"},
	})
}

func TestChangesStayInOnesOwnWarehouses(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople)
	const denied = "warehouse_denied"
	sub := func(warehouse string) string {
		return `{"type":"REP_NOTICE","warehouse":"` + warehouse + `","subscriber":"user:1"}`
	}
	b.ask(t, []asking{
		{"producer", "POST", "/notices", `{"notices":[{"type":"REP_NOTICE","warehouse":"W1","title":"x"}]}`, 403, "body.notices[0].warehouse"},
		{"site", "GET", "/subscriptions?warehouse=W1", "", 403, denied},
		{"site", "GET", "/subscriptions?warehouse=*", "", 403, "this operation concerns all warehouses; your token has 119240"},
		{"site", "GET", "/subscriptions", "", 200, ""},
		{"site", "POST", "/subscriptions", sub("W1"), 403, denied},
		{"site", "POST", "/subscriptions", sub("*"), 403, denied},
		{"site", "POST", "/subscriptions", sub("119240"), 201, ""},
		{"site", "POST", "/subscriptions/import", `{"subscriptions":[` + sub("119240") + "," + sub("W1") + `]}`, 403, denied},
		{"site", "DELETE", "/subscriptions?type=REP_NOTICE&warehouse=W1&subscriber=user:1", "", 403, denied},
		{"site", "GET", "/deliveries?warehouse=W1", "", 403, denied},
		{"site", "POST", "/deliveries/cancel", `{"filter":{"warehouse":"W1"}}`, 403, denied},
		{"site", "POST", "/rules/negative-bin-stock/promote", "", 403, "this operation concerns all scopes of the rule"},
		{"site", "POST", "/rules/negative-bin-stock/promote?scope=W1", "", 403, denied},
		{"site", "POST", "/rules/negative-bin-stock/preview", `{"scope":"W1"}`, 403, denied},
		{"site", "POST", "/rules/negative-bin-stock/rewind", `{"to":["1"],"reason":"x"}`, 403, "this operation concerns all scopes of the rule"},
		{"site", "POST", "/rules/negative-bin-stock/rewind?scope=W1", `{"to":["1"],"dryRun":true}`, 403, denied},
		{"site", "GET", "/rules/negative-bin-stock/why?key=1&scope=W1", "", 403, denied},
		{"chief", "POST", "/tokens", `{"subject":"user:x","access":["admin"]}`, 403, denied},
		{"chief", "POST", "/tokens", `{"subject":"user:x","access":["admin"],"warehouses":["W2"]}`, 403, denied},
		{"chief", "POST", "/tokens", `{"subject":"user:x","access":["admin"],"warehouses":["W1"]}`, 201, ""},
	})
}

// TestTheAddressBookIsForTokensOfAllWarehouses asks for each operation on the address book with tokens of one warehouse. None learns an address, or turns
// mails of another warehouse to another address.
func TestTheAddressBookIsForTokensOfAllWarehouses(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople)
	const entry, denied = "/subscribers/user:bob", "this operation concerns all warehouses"
	b.ask(t, []asking{{"admin", "PUT", entry, `{"mail":["bob@example.com"]}`, 201, ""}})
	operations := 0
	doc, _ := readDocument(t)
	for path, item := range doc.Paths {
		for method := range item {
			if !strings.HasPrefix(path, "/api/v1/subscribers") {
				continue
			}
			operations++
			path := strings.NewReplacer("/api/v1", "", "{id}", "user:bob").Replace(path)
			for _, who := range []string{"site", "chief"} {
				b.ask(t, []asking{{who, strings.ToUpper(method), path, `{"mail":["mallory@example.com"]}`, 403, denied}})
				b.ask(t, []asking{{who, strings.ToUpper(method), strings.Replace(path, "bob", "nobody", 1), `{}`, 403, denied}})
			}
		}
	}
	if operations != 4 {
		t.Errorf("%d operations are about the address book", operations)
	}
	b.ask(t, []asking{
		{"viewer", "GET", entry, "", 200, `"mail":["bob@example.com"]`},
		{"viewer", "GET", "/subscribers", "", 200, "bob@example.com"},
	})
}

// TestTokensOfOthersAreNotOnesOwn has an admin of one warehouse look for tokens of more, and try to end them.
func TestTokensOfOthersAreNotOnesOwn(t *testing.T) {
	t.Parallel()
	kept := &fakeTokens{}
	for id, warehouses := range map[string][]string{"t_all": {"*"}, "t_both": {"W1", "W2"}, "t_theirs": {"W2"}, "t_mine": {"W1"}} {
		if err := kept.AddToken(t.Context(), ledger.Author{}, ledger.Token{ID: id, Subject: "user:x", Warehouses: warehouses}); err != nil {
			t.Fatal(err)
		}
	}
	b := newBundle(asPeople, func(d *parts) { d.Tokens = kept })
	b.ask(t, []asking{
		{"chief", "POST", "/tokens/t_all/revoke", "", 404, "token_not_found"},
		{"chief", "POST", "/tokens/t_both/revoke", "", 404, "token_not_found"},
		{"chief", "POST", "/tokens/t_theirs/revoke", "", 404, "token_not_found"},
		{"admin", "GET", "/tokens", "", 200, "t_all"},
		{"chief", "POST", "/tokens/t_mine/revoke", "", 200, `"state":"revoked"`},
		{"admin", "POST", "/tokens/t_theirs/revoke", "", 200, `"state":"revoked"`},
	})
	list := b.handle(t, tokensPath+"?ended=true", "Authorization", "Bearer chief").body
	if !strings.Contains(list, "t_mine") || strings.Count(list, `"id"`) != 1 {
		t.Errorf("an admin of W1 sees %s", list)
	}
	if live := b.handle(t, tokensPath, "Authorization", "Bearer admin").body; !strings.Contains(live, "t_all") || !strings.Contains(live, "t_both") || strings.Contains(live, "t_theirs") {
		t.Errorf("in force are %s", live)
	}
}

// TestNobodyLocksThemselvesOut revokes the token of the request, and the last token of an admin in its warehouses: both need force. Tokens that
// have ended, and admins of other warehouses, do not stand in.
func TestNobodyLocksThemselvesOut(t *testing.T) {
	t.Parallel()
	kept := &fakeTokens{}
	for _, token := range []ledger.Token{
		{ID: "t_root", Access: []string{"admin"}, Warehouses: []string{"*"}},
		{ID: "t_old", Access: []string{"admin"}, Warehouses: []string{"*"}, Expires: time.Now().Add(-time.Hour)},
		{ID: "t_w1", Access: []string{"operator", "admin"}, Warehouses: []string{"W1"}},
		{ID: "t_wms", Access: []string{"service"}, Warehouses: []string{"*"}},
	} {
		token.Subject = "user:x"
		if err := kept.AddToken(t.Context(), ledger.Author{}, token); err != nil {
			t.Fatal(err)
		}
	}
	b := newBundle(func(d *parts) {
		d.Tokens = kept
		everywhere := []string{"*"}
		d.Auth = people{
			"root": {Subject: "user:x", Access: []auth.Role{auth.Admin}, Warehouses: everywhere, Token: "t_root"},
			"w1":   {Subject: "user:x", Access: []auth.Role{auth.Admin}, Warehouses: []string{"W1"}, Token: "t_w1"},
			"jwt":  {Subject: "user:y", Access: []auth.Role{auth.Admin}, Warehouses: everywhere},
		}
	})
	b.ask(t, []asking{
		{"root", "POST", "/tokens/t_root/revoke", "", 409, "token_last_admin"},
		{"jwt", "POST", "/tokens/t_root/revoke?force=false", "", 409, "token_last_admin"},
		{"jwt", "POST", "/tokens/t_root/revoke?force=perhaps", "", 400, "invalid_parameter"},
		{"w1", "POST", "/tokens/t_w1/revoke", "", 409, "token_is_callers"},
		{"w1", "POST", "/tokens/t_root/revoke?force=true", "", 404, "token_not_found"},
		{"root", "POST", "/tokens/t_old/revoke", "", 200, `"state":"revoked"`},
		{"root", "POST", "/tokens/t_wms/revoke", "", 200, `"state":"revoked"`},
		{"root", "POST", "/tokens/t_w1/revoke", "", 200, `"state":"revoked"`},
		{"root", "POST", "/tokens/t_root/revoke?force=true", "", 200, `"state":"revoked"`},
		{"root", "POST", "/tokens/t_root/revoke", "", 200, `"state":"revoked"`},
	})
}
