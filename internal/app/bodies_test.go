package app_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/sinks/queue"
)

// baseRequest is a request that is in order. The cases of an operation are made of it.
type baseRequest struct {
	path string // what stands for the parts of the operation's path
	body string
	// code is the problem that it is answered with, which comes after the body's check; "" is an answer 2xx.
	code string
}

// baseRequests has one for each operation that takes a body. An operation that the document has and that is not here
// fails the test.
var baseRequests = map[string]baseRequest{
	"send-notices": {body: `{"notices":[{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A-01"},"recipients":["user:a"],
		"deliver":[{"sink":"inbox"}],"texts":{"zh":{"title":"货位"}},"labels":{"area":"x"},"title":"Bin A-01"}]}`},
	"read-all-notices": {body: `{"upTo":"$cursor","warehouse":"119240","subscribers":["user:a"]}`},
	"create-type":      {body: `{"code":"NEW_NOTICE","id":7,"name":"New","names":{"zh":"新"},"fields":{"bin":{"type":"string"}}}`},
	"put-type": {path: "OTHER_NOTICE", body: `{"code":"OTHER_NOTICE","id":8,"name":"Other","names":{"zh":"新"},"fields":{"bin":{"type":"string"}},
		"title":{"en":"Bin {{ .bin }}"},"body":{"zh":"货位"},"labels":{"area":"x"},"deliver":[{"sink":"inbox"}]}`},
	"preview-type": {path: "REP_NOTICE", body: `{"data":{"bin":"A-01"},"type":{"code":"REP_NOTICE","id":8,"name":"Other","fields":{"bin":{"type":"string"}},
		"title":{"en":"Bin {{ .bin }}"},"deliver":[{"sink":"inbox"}]}}`},
	"create-subscription":  {body: `{"type":"REP_NOTICE","warehouse":"*","subscriber":"user:a"}`},
	"import-subscriptions": {body: `{"subscriptions":[{"type":"REP_NOTICE","warehouse":"119240","subscriber":"user:b"}]}`},
	"put-subscriber":       {path: "user:a", body: `{"name":"Ann","mail":["ann@example.com"],"phone":"110","alias":"a","tags":["dock"],"channels":{"jpush":"1"}}`},
	"create-silence":       {body: `{"matchers":["rule=negative-bin-stock"],"window":{"cron":"0 22 * * 6","duration":"8h"}}`},
	"create-token":         {body: `{"subject":"service:wms","access":["service"],"warehouses":["119240"],"subscribers":[]}`},

	"cancel-deliveries": {body: `{"filter":{"warehouse":"none","state":["pending"]}}`},
	"retry-deliveries":  {body: `{"ids":[4711]}`},
	"cancel-delivery":   {path: "4711", body: `{"reason":"no"}`, code: "delivery_not_found"},

	"confirm-subscriptions": {path: "wms", body: `{"hash":"5f2a9c0d1e3b4a67"}`, code: "list_changed"},
	"confirm-scopes":        {path: "negative-bin-stock", body: `{"hash":"5f2a9c0d1e3b4a67"}`, code: "list_changed"},

	"confirm-clock": {body: `{"reason":"the time service was down"}`, code: "clock_not_ahead"},
	"set-log-level": {body: `{"level":"info"}`},
	"drain":         {body: `{"node":"other"}`, code: "other_node"},

	"pause-rules":  {body: `{"for":"1h"}`},
	"disable-rule": {path: "negative-bin-stock", body: `{"for":"1h"}`},
	"enable-rule":  {path: "negative-bin-stock", body: `{"for":"1h"}`},
	"preview-rule": {path: "negative-bin-stock", body: `{"limit":1}`},
	"rewind-rule":  {path: "negative-bin-stock", body: `{"to":["1"],"reason":"missed"}`, code: "rule_no_watermark"},
	"draft-rule":   {path: "negative-bin-stock", body: `{"text":"$rule"}`},

	"push-items": {path: workQueue, body: `{"items":[{"payload":{"bin":"A-01"}},{"id":"step","payload":1},{"id":"assign","payload":2},
		{"id":"suspend","payload":3},{"id":"store","payload":4},{"id":"finish","payload":5},{"id":"set","payload":6}]}`},
	"lease-items":        {path: workQueue, body: `{"worker":"w1"}`},
	"step":               {path: workQueue, body: `{"ops":[{"op":"finish","id":"step"}]}`},
	"pause-queue":        {path: workQueue, body: `{"test":false}`},
	"resume-queue":       {path: workQueue, body: `{"test":false}`},
	"set-queue-settings": {path: workQueue, body: `{"lease":"2m","maxAttempts":0,"suspendSteps":["1h","2d"],"reset":[]}`},
	"remove-range":       {path: workQueue, body: `{"state":"dead","from":1,"to":1}`},
	"requeue-items":      {path: workQueue, body: `{"ids":["none"]}`},
	"ack-item":           {path: workQueue + "/none", body: `{"worker":"w1","attempt":1}`, code: "lease_lost"},
	"nack-item":          {path: workQueue + "/none", body: `{"worker":"w1","attempt":1}`, code: "lease_lost"},
	"release-item":       {path: workQueue + "/none", body: `{"worker":"w1","attempt":1}`, code: "lease_lost"},
	"extend-item":        {path: workQueue + "/none", body: `{"worker":"w1","attempt":1}`, code: "lease_lost"},
	"assign-item":        {path: workQueue + "/assign", body: `{"worker":"w1"}`},
	"suspend-item":       {path: workQueue + "/suspend", body: `{"note":"later"}`},
	"store-item":         {path: workQueue + "/store", body: `{"delay":"1h"}`},
	"set-item":           {path: workQueue + "/set", body: `{"priority":5,"order":"7.5"}`},
	"finish-item":        {path: workQueue + "/finish", body: `{"note":"done"}`},
	"requeue-item":       {path: workQueue + "/none", body: `{"note":"again"}`, code: "item_not_found"},
}

// firstOf is the order of those operations that others build upon.
var firstOf = []string{"send-notices", "push-items"}

// TestBodiesFollowTheDocument makes requests of the document: for each operation and each member of its body one with
// another case, one with the member twice, one beyond each bound and those of wrong types. Each is refused with its
// place, and the ledger and Redis stay as they are. The base requests, which the cases are made of, are answered well
// before.
func TestBodiesFollowTheDocument(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	redisServer := testenv.Redis(t)
	s.cfg.Redis = config.Redis{URL: config.RedisURL{URLs: []config.Secret{config.NewSecret(redisServer.URL())}}, Prefix: "tallyman:"}
	s.sqliteWMS()
	rule := strings.Replace(s.queue(), "@every 1s", "0 0 1 1 *", 1) // it does not fire while the test runs
	s.cfg.Sinks[workQueue].(*queue.Settings).SuspendSteps = []time.Duration{time.Hour}
	s.rule("stock.yaml", rule)
	n := s.start("node-1")
	state := stateOf(t, s.cfg.Ledger.Path, redisServer)

	operations := bodyOperations(t, n)
	ids := slices.Sorted(maps.Keys(operations))
	slices.SortStableFunc(ids, func(a, b string) int { return rankOf(a) - rankOf(b) })
	cases := 0
	for _, id := range ids {
		op := operations[id]
		base, ok := baseRequests[id]
		if !ok {
			t.Errorf("%s takes a body, and has no base request here", id)
			continue
		}
		path := op.at(base.path)
		body := strings.NewReplacer("$cursor", cursorOf(t, n), "$rule", jsonText(t, rule)).Replace(base.body)
		code, answer := n.do(op.method, path, "application/json", body)
		isDone := code < http.StatusMultipleChoices
		if isDone != (base.code == "") || !isDone && problemOf(answer).Code != base.code {
			t.Errorf("%s: the base request is answered %d %s", id, code, answer)
			continue
		}
		before := state.settled()
		for _, c := range op.cases(t, body) {
			cases++
			code, answer := n.do(op.method, path, "application/json", c.body)
			got := problemOf(answer)
			if code < 400 || code >= 500 || !got.names(c.at) ||
				got.Code != cmp.Or(c.code, "invalid_body") && (c.code != "" || got.Code != "malformed_body") {
				t.Errorf("%s: %s of %s is answered %d %.300s\n%.300s", id, c.what, c.at, code, answer, c.body)
			}
		}
		if after := state.read(); after != before {
			t.Errorf("%s: refused requests have changed something\n%s", id, changedLines(before, after))
		}
	}
	t.Logf("%d cases of %d operations", cases, len(ids))
	for id := range baseRequests {
		if _, ok := operations[id]; !ok {
			t.Errorf("%s has a base request, and the document has no body for it", id)
		}
	}
}

// changedLines are the lines of two states that the other state does not have.
func changedLines(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	var b strings.Builder
	for _, line := range was {
		if !slices.Contains(is, line) {
			fmt.Fprintln(&b, "before", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			fmt.Fprintln(&b, "after ", line)
		}
	}
	return b.String()
}

func rankOf(id string) int {
	if i := slices.Index(firstOf, id); i >= 0 {
		return i
	}
	return len(firstOf)
}

func cursorOf(t *testing.T, n *node) string {
	t.Helper()
	_, text := n.do(http.MethodGet, "/api/v1/notices?warehouse=119240&subscriber=user:a", "application/json", "")
	var page pageJSON
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		t.Fatal(err)
	}
	return page.Cursor
}

// jsonText is a text as it stands between the quotes of JSON.
func jsonText(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[1 : len(b)-1])
}

// refusal is a problem as far as the tests look at it.
type refusal struct {
	Code   string
	Detail string
	Errors []struct{ Location, Message string }
}

func problemOf(answer string) refusal {
	var p refusal
	if json.Unmarshal([]byte(answer), &p) != nil {
		return refusal{}
	}
	return p
}

// names tells whether a place is among those that the problem names.
func (p *refusal) names(at string) bool {
	return slices.ContainsFunc(p.Errors, func(e struct{ Location, Message string }) bool { return e.Location == at })
}

// siteState reads all that requests can change: the tables of an SQLite ledger, and the keys of Redis.
type siteState struct {
	t      *testing.T
	ledger *sql.DB
	redis  *redis.Client
}

// restless are what nodes themselves write all the time.
var restless = []string{"nodes", "branches", "clock", "lanes", "inbox_states", "samples", "goose_db_version", "sqlite_sequence"}

// agingKeys are parts of the names of keys that change with time alone: leases of nodes, rates that age, when an epoch
// was looked at last, and what nodes were answered.
var agingKeys = []string{":meta", ":recent:", ":epoch", ":request:"}

func stateOf(t *testing.T, ledger string, server *testenv.RedisServer) *siteState {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+ledger+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _, _ = db.Close(), client.Close() })
	return &siteState{t, db, client}
}

// settled is the state once what the requests of before have caused is over: nothing is on its way to a sink or the
// ledger.
func (s *siteState) settled() string {
	s.t.Helper()
	last, since := "", time.Now()
	testenv.Eventually(s.t, func() bool {
		now := s.read()
		if now != last || strings.Contains(now, ":outbox ") {
			since = time.Now()
		}
		last = now
		return time.Since(since) > 200*time.Millisecond
	}, 20*time.Second)
	return last
}

func (s *siteState) read() string {
	s.t.Helper()
	var b strings.Builder
	for _, table := range s.column("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		if slices.Contains(restless, table) {
			continue
		}
		fmt.Fprintln(&b, table, s.rows("SELECT * FROM "+table))
	}
	ctx := s.t.Context()
	keys, err := s.redis.Keys(ctx, "*").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if slices.ContainsFunc(agingKeys, func(part string) bool { return strings.Contains(key, part) }) {
			continue
		}
		value, err := s.value(ctx, key)
		if errors.Is(err, redis.Nil) { // gone since then
			continue
		}
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %q\n", key, value)
	}
	return b.String()
}

// value is what a key holds. Hashes and sets are read by their members, sorted: Redis changes their order by itself
// while it resizes their tables.
func (s *siteState) value(ctx context.Context, key string) (any, error) {
	kind, err := s.redis.Type(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "hash":
		return s.redis.HGetAll(ctx, key).Result() // fmt prints a map in the order of its keys
	case "set":
		members, err := s.redis.SMembers(ctx, key).Result()
		slices.Sort(members)
		return members, err
	default:
		return s.redis.Dump(ctx, key).Result()
	}
}

func (s *siteState) column(query string) []string {
	s.t.Helper()
	var out []string
	for _, row := range s.rows(query) {
		out = append(out, fmt.Sprint(row[0]))
	}
	return out
}

func (s *siteState) rows(query string) [][]any {
	s.t.Helper()
	rows, err := s.ledger.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	var out [][]any
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return out
}
