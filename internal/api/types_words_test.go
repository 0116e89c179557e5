package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// dockType has all that a type may say.
const dockType = `{"code":"DOCK","id":9,"name":"Dock","names":{"zh":"月台"},"expires":"4h",
	"fields":{"gate":{"type":"string","required":true},"pallets":{"type":"int"},"weight":{"type":"decimal"},"at":{"type":"time"},"cold":{"type":"bool"}},
	"title":{"en":"Gate {{ .gate }}: {{ .pallets | default \"no\" }} pallets","zh":"月台 {{ .gate }}"},
	"body":{"":"{{ if .cold }}Cold. {{ end }}{{ .weight | round 1 }} kg{{ with .at }}, due {{ . | date \"HH:mm\" }}{{ end }}"},
	"priority":4,"modal":"popup","labels":{"area":"dock","team":"inbound"},
	"deliver":[{"sink":"inbox"},{"sink":"gateway","strategy":"delayed","delay":"10m","retry":2,"unless":"read"}]}`

// withDock is an API whose catalogue has the type.
func withDock(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	if got := b.do(t, http.MethodPost, "/api/v1/types", dockType); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return b
}

// A business system that gives type, warehouse and data has the rest from the type.
func TestSendWhatTheTypeSays(t *testing.T) {
	t.Parallel()
	b := withDock(t)
	sent := b.send(t, `{"type":"DOCK","warehouse":"119240","data":{"gate":"G4","weight":"812.46","cold":true,"at":"2026-06-01T18:30:00+08:00"}}`)
	const body = "Cold. 812.5 kg, due 10:30"
	want := ledger.NewNotice{
		Notice: &notice.Notice{
			Type: "DOCK", TypeID: 9, Warehouse: "119240", Status: notice.Sent, Priority: 4, Modal: "popup", Title: "Gate G4: no pallets", Body: body,
			Texts: map[string]notice.Text{"en": {Title: "Gate G4: no pallets"}, "zh": {Title: "月台 G4"}},
			Data: []notice.Field{
				{Name: "at", Value: "2026-06-01T10:30:00Z"}, {Name: "cold", Value: true}, {Name: "gate", Value: "G4"}, {Name: "weight", Value: "812.46"},
			},
			Labels: map[string]string{"area": "dock", "team": "inbound"}, Count: 1, CreatedAt: sentAt, ExpiresAt: sentAt.Add(4 * time.Hour),
		},
		Sinks: []ledger.Target{
			{Sink: "inbox", Inbox: true},
			{Sink: "gateway", Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: 10 * time.Minute, Retry: 2, Unless: delivery.UnlessRead}},
		},
	}
	if diff := cmp.Diff(want, sent, cmpopts.IgnoreFields(notice.Notice{}, "ID", "Episode"), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// What a sender says wins, each part by itself; labels are merged.
func TestSendersWinOverTheType(t *testing.T) {
	t.Parallel()
	b := withDock(t)
	sent := b.send(t, `{"type":"DOCK","warehouse":"119240","data":{"gate":"G4"},"title":"Look","texts":{"zh":{"title":"看"}},"priority":2,"modal":"silent",
		"labels":{"team":"night"},"expires":"1h","deliver":[{"sink":"replenishment"}]}`)
	want := ledger.NewNotice{
		Notice: &notice.Notice{
			Type: "DOCK", TypeID: 9, Warehouse: "119240", Status: notice.Sent, Priority: 2, Modal: "silent", Title: "Look", Body: "kg",
			Texts: map[string]notice.Text{"zh": {Title: "看"}}, Data: []notice.Field{{Name: "gate", Value: "G4"}},
			Labels: map[string]string{"area": "dock", "team": "night"}, Count: 1, CreatedAt: sentAt, ExpiresAt: sentAt.Add(time.Hour),
		},
		Sinks: []ledger.Target{{Sink: "replenishment"}},
	}
	if diff := cmp.Diff(want, sent, cmpopts.IgnoreFields(notice.Notice{}, "ID", "Episode"), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if words := b.send(t, `{"type":"DOCK","warehouse":"119240","title":"Words alone"}`).Notice; words.Title != "Words alone" || words.Body != "" {
		t.Errorf("a type speaks without the data that it requires: %+v", words)
	}
}

// A title that the data make too long is cut: the sender has not written it.
func TestTitlesOfTypesAreCut(t *testing.T) {
	t.Parallel()
	b := withDock(t)
	sent := b.send(t, `{"type":"DOCK","warehouse":"119240","data":{"gate":"`+strings.Repeat("门", 1000)+`"}}`).Notice
	if runes := []rune(sent.Title); len(runes) != notice.MaxTitle || runes[len(runes)-1] != '…' {
		t.Errorf("a title of %d characters: %s", len(runes), sent.Title)
	}
}

// What a type says is checked against its fields and the sinks when it is put into the catalogue.
func TestTypesThatCannotSpeak(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for change, want := range map[string]string{
		`"gate":{"type":"string","required":true}→"door":{"type":"string"}`: `body.title.en: character 9: the type has no field \"gate\": fields: at, cold, door, pallets, weight`,
		`{{ .weight | round 1 }}→{{ .gate | round 1 }}`:                     `body.body: character 41: round takes a number, not a text`,
		`{{ .pallets→{{ .palets`:                                            `did you mean \"pallets\"?`,
		`月台 {{ .gate }}→月台 {{ .gate`:                                        `"location":"body.title.zh"`,
		`月台 {{ .gate }}→ `:                                                  `title.zh is empty`,
		`"zh":"月台 {{→"Chinese":"月台 {{`:                                      `\"Chinese\" is no language`,
		`"priority":4→"priority":6`:                                         `"location":"body.priority"`,
		`"modal":"popup"→"modal":"loud"`:                                    `"location":"body.modal"`,
		`"area":"dock"→"a b":"dock"`:                                        `a label is named with letters`,
		`"sink":"gateway"→"sink":"gatewy"`:                                  `no sink \"gatewy\" is configured: did you mean \"gateway\"?`,
		`"sink":"gateway"→"sink":"inbox"`:                                   `the notices go to \"inbox\" already`,
		`"sink":"gateway"→"sink":"replenishment"`:                           `strategy delayed is for push channels`,
		`"delay":"10m"→"delay":"5h"`:                                        `a delay of 5h is not shorter than the life of a notice, which is 4h`,
		`"delay":"10m",→`:                                                   `delay is missing`,
		`"delay":"10m"→"within":"10m"`:                                      `within belongs to strategy timed`,
		`"delay":"10m"→"delay":"400d"`:                                      `from 0s to 366d`,
		`"delay":"10m"→"at":"now"`:                                          `unexpected property`,
		`"expires":"4h"→"expires":"4h","retention":"4h"`:                    `two words for how long a notice lives`,
	} {
		before, after, _ := strings.Cut(change, "→")
		if !strings.Contains(dockType, before) {
			t.Fatal(before)
		}
		got := b.do(t, http.MethodPost, "/api/v1/types", strings.Replace(dockType, before, after, 1))
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %s", change, got.status, got.body, want)
		}
	}
}

func TestPreviewType(t *testing.T) {
	t.Parallel()
	b := withDock(t)
	preview := func(code, body string) answer {
		return b.do(t, http.MethodPost, "/api/v1/types/"+code+"/preview", body)
	}
	got := preview("9", `{"data":{"gate":"G4","pallets":3}}`)
	const want = `{"type":"DOCK","texts":[{"language":"","title":"Gate G4: 3 pallets","body":"kg"},{"language":"en","title":"Gate G4: 3 pallets","body":"kg"},` +
		`{"language":"zh","title":"月台 G4","body":"kg"}],"priority":4,"modal":"popup","expires":"4h","labels":{"area":"dock","team":"inbound"},` +
		`"deliver":[{"sink":"inbox"},{"sink":"gateway","strategy":"delayed","delay":"10m","retry":2,"unless":"read"}]}` + "\n"
	if diff := cmp.Diff(want, got.body); diff != "" || got.status != http.StatusOK {
		t.Error(got.status, diff)
	}
	for _, c := range []struct {
		code, body string
		status     int
		contains   string
	}{
		{"DOCK", `{"data":{"pallets":3}}`, 422, `"location":"body.data.gate","message":"type DOCK needs this field"`},
		{"DOCK", `{}`, 422, `"location":"body.data.gate"`},
		{"DOCK", `{"data":{"gate":4}}`, 422, `"location":"body.data.gate"`},
		{"DOCK", `{"data":{"gate":"G4"},"type":` + strings.Replace(dockType, "Gate {{", "Door {{", 1) + `}`, 200, `"title":"Door G4: no pallets"`},
		{"DOCK", `{"data":{"gate":"G4"},"type":` + strings.Replace(dockType, "{{ .gate }}:", "{{ .gat }}:", 1) + `}`, 422, `"location":"body.type.title.en"`},
		{"NEW", `{"data":{"gate":"G4"},"type":` + dockType + `}`, 422, `"location":"body.type.code"`},
		{"REP_NOTICE", `{"data":{"bin":"A-01"}}`, 200, `"title":"Replenishment notice","body":"bin: A-01"`},
		{"NONE", `{}`, 404, `"code":"unknown_type"`},
	} {
		if got := preview(c.code, c.body); got.status != c.status || !strings.Contains(got.body, c.contains) {
			t.Errorf("%s %s: %d %s, want %d %s", c.code, c.body, got.status, got.body, c.status, c.contains)
		}
	}
	if n := len(b.sends.all()); n != 0 {
		t.Errorf("a preview has sent %d notices", n)
	}
}
