package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

const mePath = "/api/v1/me"

func TestMe(t *testing.T) {
	t.Parallel()
	ann := auth.Identity{
		Subject: "user:ann", Access: []auth.Role{auth.Client}, Subscribers: []string{"user:ann", "role:keeper"}, Warehouses: []string{"119240"}, Token: "t1",
		Expires: time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC),
	}
	b := setup(t, func(d *parts) { d.Auth = bearer{"ann": ann, "new": {Subject: "service:new", Token: "t2"}} })
	if _, err := b.book.PutSubscriber(t.Context(), ledger.Author{}, delivery.Subscriber{ID: "user:ann", Name: "Ann Lee"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "me.json", b.get(t, mePath, "Authorization", "ann").body)
	golden(t, "me.xml", b.get(t, mePath, "Authorization", "ann", "Accept", "application/xml").body)
	var me struct {
		Subject, Mode string
		Warehouses    []string
		May           []string
	}
	if err := json.Unmarshal([]byte(b.get(t, mePath).body), &me); err != nil {
		t.Fatal(err)
	}
	if me.Subject != auth.Anonymous || me.Mode != "none" || !slices.Equal(me.Warehouses, []string{"*"}) || !slices.Contains(me.May, "revoke-token") {
		t.Errorf("without tokens: %+v", me)
	}
	if got := b.get(t, mePath, "Authorization", "new"); got.status != http.StatusForbidden { // who has no role at all
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestMayIsWhatIsAllowed compares the operations in each role's answer with the table Access.
func TestMayIsWhatIsAllowed(t *testing.T) {
	t.Parallel()
	b := newBundle(func(d *parts) { d.Auth = byRole{} })
	for i, role := range columns {
		if role == "" {
			continue
		}
		var want []string
		for line := range strings.Lines(cells) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[i+1] == "x" {
				want = append(want, fields[0])
			}
		}
		slices.Sort(want)
		var me struct{ May []string }
		if err := json.Unmarshal([]byte(b.handle(t, mePath, "Authorization", "Bearer "+role).body), &me); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(me.May, want) {
			t.Errorf("%s is told %v, and may %v", role, me.May, want)
		}
	}
}

func TestMeWithoutTheAddressBook(t *testing.T) {
	t.Parallel()
	b := newBundle(func(d *parts) { d.Auth = byRole{} })
	b.book.err = errBroken
	if got := b.handle(t, mePath, "Authorization", "Bearer viewer"); got.status != http.StatusOK || strings.Contains(got.body, `"name"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
