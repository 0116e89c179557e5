package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/silence"
	"tallyman/internal/wire"
)

func TestSilencesList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	golden(t, "silences.json", b.get(t, "/api/v1/silences").body)
	golden(t, "silences.xml", b.get(t, "/api/v1/silences", "Accept", "application/xml").body)
	golden(t, "silence.json", b.get(t, "/api/v1/silences/s_stocktake").body)
	for query, want := range map[string]int{"": 3, "?state=active": 1, "?state=pending&state=active": 2, "?state=expired": 1} {
		var form wire.SilencesForm
		if err := json.Unmarshal([]byte(b.get(t, "/api/v1/silences"+query).body), &form); err != nil || len(form.Silences) != want {
			t.Errorf("%s: %d silences, %v", query, len(form.Silences), err)
		}
	}
	for path, want := range map[string]string{"/silences?state=ended": "invalid_parameter", "/silences/s_none": "silence_not_found"} {
		if got := b.get(t, "/api/v1"+path); !strings.Contains(got.body, `"code":"`+want+`"`) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

func TestSilencesAreAddedAndEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.do(t, http.MethodPost, "/api/v1/silences", `{"matchers":["rule=x","warehouse=~1192.*"],"for":"2h","comment":"stocktake"}`, "Content-Type", "application/json")
	var form wire.SilenceForm
	if err := json.Unmarshal([]byte(got.body), &form); err != nil || got.status != http.StatusCreated {
		t.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	if form.State != "active" || form.Author != "anonymous" || !form.From.Equal(quarterPast) || !form.Until.Equal(quarterPast.Add(2*time.Hour)) || !strings.HasPrefix(form.ID, "s_") {
		t.Errorf("%+v", form)
	}
	for _, want := range []string{"expired", "expired"} {
		got = b.do(t, http.MethodPost, "/api/v1/silences/"+form.ID+"/expire", "")
		if err := json.Unmarshal([]byte(got.body), &form); err != nil || got.status != http.StatusOK || form.State != want || form.EndedBy != "anonymous" {
			t.Errorf("%d %s, %v", got.status, got.body, err)
		}
	}
	if got = b.do(t, http.MethodPost, "/api/v1/silences/s_none/expire", ""); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
	got = b.do(t, http.MethodPost, "/api/v1/silences", `{"matchers":["warehouse=119240"],"from":"2026-06-02T00:00:00+08:00","window":{"cron":"0 22 * * 6","timezone":"Asia/Shanghai","duration":"8h"}}`, "Content-Type", "application/json")
	if err := json.Unmarshal([]byte(got.body), &form); err != nil || form.State != "pending" || form.Next == nil || form.Window.Duration != "8h" {
		t.Errorf("%d %s, %v", got.status, got.body, err)
	}
	if b.silences.changed != 4 {
		t.Errorf("the node has taken in %d changes", b.silences.changed)
	}
}

func TestBadSilencesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for body, want := range map[string]string{
		`{"matchers":["rule"],"for":"2h"}`:                                                 `body.matchers: \"rule\": has no operator`,
		`{"matchers":["rule=~("],"for":"2h"}`:                                              `body.matchers: \"rule=~(\": missing closing )`,
		`{"matchers":["key=A-01"],"for":"2h"}`:                                             `body.matchers: \"key=A-01\": its value is not a key; a key is a JSON array as notices carry it`,
		`{"matchers":["key!=A"],"for":"2h"}`:                                               `its value is not a key`,
		`{"matchers":["key=~.*"],"for":"2h"}`:                                              "body.matchers: every matcher also matches an empty text",
		`{"matchers":["rule=~.*"],"for":"2h"}`:                                             "body.matchers: every matcher also matches an empty text",
		`{"matchers":[],"for":"2h"}`:                                                       "body.matchers: there is no matcher",
		`{"matchers":["rule=x"]}`:                                                          "body.until: is missing",
		`{"matchers":["rule=x"],"for":"2 hours"}`:                                          "body.for: ",
		`{"matchers":["rule=x"],"for":"2h","until":"2026-06-02T00:00:00Z"}`:                "body.for: leave out for, or leave out until",
		`{"matchers":["rule=x"],"until":"2026-05-02T00:00:00Z"}`:                           "body.until: is not after from",
		`{"matchers":["rule=x"],"until":"tomorrow"}`:                                       "body.until",
		`{"matchers":["rule=x"],"window":{"cron":"0 22 * *","duration":"8h"}}`:             "body.window.cron: has 4 fields",
		`{"matchers":["rule=x"],"window":{"cron":"0 22 * * *","duration":"a day"}}`:        "body.window.duration: ",
		`{"matchers":["rule=x"],"window":{"cron":"0 * * * *","duration":"2h"}}`:            "body.window.duration: is not shorter than the 1h0m0s between two openings",
		`{"matchers":["rule=x"],"for":"2h","comment":"` + strings.Repeat("x", 1001) + `"}`: "body.comment: is longer",
	} {
		got := b.do(t, http.MethodPost, "/api/v1/silences", body, "Content-Type", "application/json")
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, want) || !strings.Contains(got.body, `"code":"invalid_body"`) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if b.silences.changed != 0 {
		t.Error("something was added")
	}
}

func TestTooManySilences(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 999 {
		b.silences.list = append(b.silences.list, silence.Silence{ID: fmt.Sprint(i), Until: quarterPast.Add(time.Hour)})
	}
	got := b.do(t, http.MethodPost, "/api/v1/silences", `{"matchers":["rule=x"],"for":"2h"}`, "Content-Type", "application/json")
	if got.status != http.StatusConflict || !strings.Contains(got.body, `"code":"too_many_silences"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestSilencesWithoutALedger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.silences.failure = errors.New("away")
	for _, path := range []string{"/silences", "/silences/s_stocktake"} {
		if got := b.get(t, "/api/v1"+path); got.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// A silence that was added or ended is answered as such also where this node cannot read it at once.
func TestSilencesThatAreReadLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.silences.unread = errors.New("away")
	b.catalogue.err = errors.New("away") // So the matches of the new silence are unknown.
	got := b.do(t, http.MethodPost, "/api/v1/silences", `{"matchers":["rule=x"],"for":"2h"}`, "Content-Type", "application/json")
	ended := b.do(t, http.MethodPost, "/api/v1/silences/s_stocktake/expire", "")
	if got.status != http.StatusCreated || ended.status != http.StatusOK || !strings.Contains(ended.body, `"state":"expired"`) {
		t.Errorf("%d %s, %d %s", got.status, got.body, ended.status, ended.body)
	}
	if log := b.log.String(); !strings.Contains(log, `"Matches of a new silence could not be checked. The answer has no warning."`) || strings.Contains(log, "level=ERROR") {
		t.Errorf("log: %s", log)
	}
	if got := b.get(t, "/api/v1/silences/s_stocktake"); got.status != http.StatusOK && got.asProblem(t).Code != "ledger_unavailable" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
