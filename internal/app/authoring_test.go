package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

const rulePath = "/rules/negative-bin-stock"

// draftAnswer is what the tests look at.
type draftAnswer struct {
	Scope    string
	Problems []wire.FileProblem
	Fields   []struct{ Path, Before, After string }
	Preview  *struct {
		Known  bool
		Counts struct{ Rows, Matched int }
	}
	Effect *struct {
		From                     string
		Compared                 bool
		Running, Draft           struct{ Matched int }
		Fire, Resolve, Unchanged struct {
			Count int
			Keys  []string
		}
	}
	Notes []string
}

// stockEntry is the rule of stockRule as its file has it.
var stockEntry = strings.TrimRight(stockRule[strings.Index(stockRule, "  - id:"):], "\n")

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	testenv.Eventually(t, ok, 20*time.Second)
}

// drafts tries a text on the node.
func (n *node) drafts(text string) (code int, d draftAnswer) {
	n.t.Helper()
	body, err := json.Marshal(map[string]any{"text": text, "limit": 5})
	if err != nil {
		n.t.Fatal(err)
	}
	return n.post(rulePath+"/draft", string(body), &d), d
}

// A draft is checked as its file would be, run on the source from the ledger's state, and leaves nothing behind but its
// record.
func TestDrafts(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*site) *wmsDB{
		"sqlite":   (*site).sqliteWMS,
		"postgres": func(s *site) *wmsDB { s.realServers(); return s.postgresWMS() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			wms := prepare(s)
			s.rule("stock.yaml", stockRule)
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119240, 'A-02', 'S2', -9), (119240, 'B-01', 'S1', 2)`)
			n := s.start("one")
			n.await(nil, 2)

			first := strings.NewReplacer("threshold: 0", "threshold: 5", "when: qty < 0", "when: qty < -5 or qty > 0").Replace(stockEntry)
			code, d := n.drafts(first)
			if code != http.StatusOK || len(d.Problems) > 0 || d.Preview == nil || d.Effect == nil {
				t.Fatalf("%d %+v", code, d)
			}
			if len(d.Fields) != 2 || d.Fields[0].Path != "probe.params.threshold" || d.Fields[1].Before != "qty < 0" || d.Fields[1].After != "qty < -5 or qty > 0" {
				t.Errorf("%+v", d.Fields)
			}
			e := d.Effect
			if d.Preview.Counts.Rows != 3 || d.Preview.Counts.Matched != 2 || !d.Preview.Known || e.From != "ledger" || !e.Compared || e.Running.Matched != 2 || e.Draft.Matched != 2 {
				t.Errorf("%+v %+v", d.Preview.Counts, e)
			}
			if !slices.Equal(e.Fire.Keys, []string{`[119240,"B-01","S1"]`}) || !slices.Equal(e.Resolve.Keys, []string{`[119240,"A-01","S1"]`}) || e.Unchanged.Count != 1 {
				t.Errorf("%+v", e)
			}

			if code, d = n.drafts(stockEntry); code != http.StatusOK || len(d.Fields)+len(d.Problems) > 0 || d.Preview == nil || d.Effect != nil {
				t.Errorf("%d %+v", code, d)
			}
			for text, want := range map[string]wire.FileProblem{
				strings.Replace(stockEntry, "when: qty", "hwen: qty", 1):              {Code: "unknown_field", Line: 8, Col: 5},
				strings.Replace(stockEntry, "source: wms", "source: erp", 1):          {Code: "unknown_source", Line: 3, Col: 13},
				strings.Replace(stockEntry, "FROM bin_stock", "FROM bin_stocks", 1):   {Code: "probe_invalid", Line: 6, Col: 50},
				strings.Replace(stockEntry, "when: qty < 0", "when: qtty < 0", 1):     {Code: "expr_unknown_name", Line: 8, Col: 11},
				strings.Replace(stockEntry, "id: negative-bin-stock", "id: other", 1): {Code: "bad_id", Line: 1, Col: 9},
			} {
				code, d = n.drafts(text)
				if code != http.StatusOK || len(d.Problems) != 1 || d.Preview != nil || d.Effect != nil {
					t.Fatalf("%s: %d %+v", want.Code, code, d)
				}
				if p := d.Problems[0]; p.Line != want.Line || p.Col != want.Col || p.Code != want.Code || p.File != "" {
					t.Errorf("%+v, want %+v", p, want)
				}
			}
			misspelt := strings.Replace(stockEntry, "when: qty", "hwen: qty", 1)
			for text, problems := range map[string]int{stockEntry: 0, misspelt: 1} { // leaves no record
				ask, err := json.Marshal(map[string]any{"text": text, "check": true, "file": true})
				if err != nil {
					t.Fatal(err)
				}
				var checked wire.DraftForm
				if code := n.post(rulePath+"/draft", string(ask), &checked); code != http.StatusOK || len(checked.Problems) != problems || checked.Preview != nil || checked.File == nil {
					t.Fatalf("%d %+v", code, checked)
				}
				f := checked.File
				if want := strings.Replace(stockRule, "when: qty", "hwen: qty", problems); filepath.Base(f.Name) != "stock.yaml" || f.Before != stockRule || f.After != want {
					t.Errorf("%+v", f)
				}
			}
			if code, _ := n.do(http.MethodPost, "/api/v1/rules/none/draft", "application/json", `{"text":"id: none"}`); code != http.StatusNotFound {
				t.Errorf("%d of a rule that is not there", code)
			}
			var list wire.AuditForm
			if n.get("/audit?action=rule.draft", &list); len(list.Changes) != 7 || !strings.Contains(string(list.Changes[6].After), fmt.Sprintf(`"text":{"bytes":%d,"sha256":"%x"}`, len(first), sha256.Sum256([]byte(first)))) {
				t.Errorf("%d on record", len(list.Changes))
			}
			if p := n.await(nil, 2); len(p.Notices) != 2 {
				t.Errorf("a draft was told: %+v", p.Notices)
			}
		})
	}
}

// A new scope is tried with nothing to compare it with; which of several is meant has to be said.
func TestDraftsOfScopes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	text := stockEntry + "\n    scopes: [{name: north}, {name: south}]"
	if code, _ := n.drafts(text); code != http.StatusBadRequest {
		t.Errorf("%d", code)
	}
	ask := func(scope string) (code int, d draftAnswer) {
		body, err := json.Marshal(map[string]string{"text": text, "scope": scope})
		if err != nil {
			t.Fatal(err)
		}
		return n.post(rulePath+"/draft", string(body), &d), d
	}
	if code, d := ask("north"); code != http.StatusOK || d.Scope != "north" || d.Preview == nil || d.Preview.Known || d.Effect != nil || len(d.Notes) != 1 {
		t.Errorf("%d %+v", code, d)
	}
	if code, _ := ask("west"); code != http.StatusNotFound {
		t.Errorf("%d", code)
	}
}

// What a rule's page shows is the text of the version that runs, whatever has become of its file.
func TestSourceOfARule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	source := func() (r wire.RuleSource) {
		t.Helper()
		if code, body := n.get(rulePath+"/source", &r); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
		return r
	}
	running := func(what string, r *wire.RuleSource, line int) {
		t.Helper()
		if r.Text != stockEntry || r.Line != line || r.Rule != "negative-bin-stock" || r.Version == "" || !strings.HasSuffix(r.File, "stock.yaml") {
			t.Errorf("%s: %+v", what, r)
		}
	}
	first := source()
	running("at first", &first, 4)
	if first.Disk != nil || len(first.Problems) > 0 {
		t.Errorf("%+v", first)
	}
	s.rule("stock.yaml", "# a comment\n"+stockRule)
	eventually(t, func() bool { r := source(); return r.Line == 5 && r.Text == stockEntry && r.Version == first.Version })

	bad := strings.Replace(stockRule, "when:", "hwen:", 1)
	s.rule("stock.yaml", bad)
	eventually(t, func() bool { return source().Disk != nil })
	r := source()
	running("a bad edit", &r, 5)
	if r.Disk.Text != strings.Replace(stockEntry, "when:", "hwen:", 1) || r.Disk.Line != 4 || r.Disk.Gone || len(r.Disk.Problems) != 1 || r.Disk.Problems[0].Line != 11 {
		t.Errorf("%+v", r.Disk)
	}
	s.rule("stock.yaml", strings.Replace(stockRule, "when: qty < 0", "when: qty: 0", 1))
	eventually(t, func() bool {
		r = source()
		return len(r.Disk.Problems) == 1 && r.Disk.Problems[0].Code == "yaml_syntax"
	})
	if running("no YAML", &r, 5); !strings.Contains(r.Disk.Text, "when: qty: 0") || r.Disk.Line != 4 {
		t.Errorf("%+v", r.Disk)
	}
	s.rule("stock.yaml", strings.Replace(bad, "id: negative-bin-stock", "id: another-rule", 1))
	eventually(t, func() bool { r = source(); return r.Disk != nil && r.Disk.Gone })
	if running("gone", &r, 5); r.Disk.Text != "" || len(r.Disk.Problems) != 1 {
		t.Errorf("%+v", r.Disk)
	}
	s.rule("stock.yaml", tells("New"))
	eventually(t, func() bool { r = source(); return r.Disk == nil && strings.Contains(r.Text, `"New"`) })
}

// What rules check warns of stands in the source of the rule that runs, with what the SQL compares, and in a draft.
func TestWarningsOfARule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	suspect := strings.NewReplacer("@every 1s", "*/5 * * * *", "when: qty < 0", "when: qty < 0\n    for: 1m", "WHERE qty < :threshold", "WHERE qty < :threshold AND bin_code > 100").Replace(stockRule)
	s.rule("stock.yaml", suspect)
	n := s.start("one")
	codes := func(list []wire.FileProblem) string {
		var names []string
		for _, p := range list {
			if p.Line == 0 || p.Hint == "" || p.Message == "" {
				t.Errorf("%+v", p)
			}
			names = append(names, p.Code)
		}
		return strings.Join(names, " ")
	}
	var r wire.RuleSource
	eventually(t, func() bool {
		n.get(rulePath+"/source", &r)
		return strings.Contains(codes(r.Warnings), "text_as_number")
	})
	const want = "text_as_number shorter_than_interval"
	if got := codes(r.Warnings); got != want {
		t.Errorf("the rule warns of %s, want %s: %+v", got, want, r.Warnings)
	}
	var d wire.DraftForm
	text, err := json.Marshal(map[string]string{"text": r.Text})
	if err != nil {
		t.Fatal(err)
	}
	if code := n.post(rulePath+"/draft", string(text), &d); code != http.StatusOK {
		t.Fatal(code)
	}
	if got := codes(d.Lints); got != want || d.Lints[0].File != "" || d.Lints[0].Line != r.Warnings[0].Line-r.Line+1 {
		t.Errorf("the draft warns of %s: %+v", got, d.Lints)
	}
}

// Why a rule is not verified stands in its source, also where a comment has moved it since.
func TestSourceOfAnUnverifiedRule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	wrong := strings.Replace(stockRule, "when: qty < 0", "when: qtty < 0", 1)
	s.rule("stock.yaml", wrong)
	n := s.start("one")
	at := func(line int) func() bool {
		return func() bool {
			var r wire.RuleSource
			n.get(rulePath+"/source", &r)
			return len(r.Problems) == 1 && r.Problems[0].Code == "expr_unknown_name" && r.Problems[0].Line == line && r.Problems[0].Col == 11
		}
	}
	eventually(t, at(11))
	s.rule("stock.yaml", "# moved\n\n"+wrong)
	eventually(t, at(13))
}

// TestDraftsOfAttacks sends probes that would end another session over every way that tries a probe: a draft and a
// preview over HTTP, `rules check --source` and a new rule file. Each is refused before anything of it runs.
func TestDraftsOfAttacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	victim, err := pgx.Connect(t.Context(), s.cfg.Sources["wms"].URL.Reveal()+"&application_name=victim")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Close(context.WithoutCancel(t.Context())) }()
	wms.exec(`CREATE VIEW killer AS SELECT pg_terminate_backend(pid) AS gone FROM pg_stat_activity WHERE application_name = 'victim';
		CREATE FUNCTION kill() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT bool_or(gone) FROM killer); END $$`)
	n := s.start("one")
	for where, code := range map[string]string{
		`AND (SELECT bool_or(U&"pg\005fterminate\005fbackend"(pid)) FROM pg_stat_activity)`: "sql_escaped",
		"AND (SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity)":             "sql_function",
		"AND (SELECT bool_or(gone) FROM killer)":                                            "probe_function",
		"AND kill()":                                                                        "probe_function",
	} {
		attack := strings.Replace(stockEntry, "< :threshold", "< :threshold "+where, 1)
		if status, d := n.drafts(attack); status != http.StatusOK || len(d.Problems) != 1 || d.Problems[0].Code != code || d.Preview != nil || d.Effect != nil {
			t.Errorf("%s: %d %+v", where, status, d)
		}
		file := filepath.Join(t.TempDir(), "attack.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(stockRule, "< :threshold", "< :threshold "+where, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		checked, err := app.Authoring().Check(t.Context(), s.cfg, authoring.CheckOptions{Paths: []string{file}, Live: true})
		if err != nil || len(checked.Problems) != 1 || checked.Problems[0].Code != code {
			t.Errorf("%s: %+v, %v", where, checked.Problems, err)
		}
		if err := victim.Ping(t.Context()); err != nil {
			t.Fatalf("%s: the other session was ended: %v", where, err)
		}
	}
}
