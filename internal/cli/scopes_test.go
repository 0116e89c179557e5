package cli

import (
	"strings"
	"testing"
)

const waitingScopes = `{"origins":[
	{"rule":"empty","source":"wms","listed":true,"scopes":0,"answered":"2026-06-01T08:00:00Z"},
	{"rule":"gone","listed":true,"scopes":7,"answered":"2026-06-01T08:00:00Z"},
	{"rule":"low","source":"wms","listed":true,"scopes":3,"answered":"2026-06-01T08:00:00Z","error":"1 of 3 rows are no scopes: row 2: name is NULL",
	 "waits":{"hash":"abc","since":"2026-06-01T08:00:00Z","scopes":1,"added":0,"changed":1,"removed":2,"removing":["1"]}},
	{"rule":"new","source":"wms","listed":false,"scopes":0},
	{"rule":"ok","source":"wms","listed":true,"scopes":400,"answered":"2026-06-01T08:00:00Z"}]}`

func TestScopesList(t *testing.T) {
	t.Parallel()
	url, _ := server(t, reply{200, waitingScopes}, reply{200, `{"origins":[]}`})
	for _, want := range []string{`RULE   SOURCE  SCOPES  STATE      LAST LIST
empty  wms     0       empty      2026-06-01 08:00:00Z
gone   -       7       left over  2026-06-01 08:00:00Z
low    wms     3       waits      2026-06-01 08:00:00Z
new    wms     0       not asked  -
ok     wms     400     ok         2026-06-01 08:00:00Z
gone is left over: the rule files of the node have no query for it; tallyman scopes forget gone forgets the list
low fails: 1 of 3 rows are no scopes: row 2: name is NULL
low waits: a list of 1 scope would remove 2 of 3; tallyman scopes confirm low takes it
new waits: its query has not been answered yet, so the rule does not run
`, "No rule has scopes from a query.\n"} {
		if code, out, errOut := run(t, url, "", "scopes", "list"); code != ExitFine || out != want {
			t.Errorf("%d %s\n%s\nwant\n%s", code, errOut, out, want)
		}
	}
}

// The list that was shown is confirmed, and nothing where somebody says no.
func TestConfirmScopes(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, waitingScopes}, reply{200, waitingScopes}, reply{200, `{"added":0,"changed":1,"removed":2}`}, reply{200, waitingScopes}, reply{200, waitingScopes},
		reply{204, ``})
	for _, c := range []struct {
		in   string
		args []string
		code int
		says string
	}{
		{"n\n", []string{"confirm", "low"}, ExitProblems, "nothing was changed"},
		{"y\n", []string{"confirm", "low"}, ExitFine, "The list of 1 scope waits since 2026-06-01 08:00:00Z. It adds 0, changes 1 and removes 2: 1 and 1 more.\n"},
		{"", []string{"confirm", "ok", "--yes"}, ExitProblems, "no list of scopes of ok waits"},
		{"", []string{"confirm", "other", "--yes"}, ExitProblems, "no query lists the scopes of a rule other"},
		{"", []string{"forget", "gone"}, ExitFine, "Forgot the scopes of gone."},
	} {
		if code, out, errOut := run(t, url, c.in, append([]string{"scopes"}, c.args...)...); code != c.code || !strings.Contains(errOut+out, c.says) {
			t.Errorf("%v: %d\n%s%s", c.args, code, errOut, out)
		}
	}
	if got := (*calls)[2]; got.path != "/api/v1/scopes/low/confirm" || got.body != `{"hash":"abc"}` {
		t.Errorf("%+v", got)
	}
}
