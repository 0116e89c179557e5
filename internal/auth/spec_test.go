package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpecs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		spec  Spec
		fault string // field: a piece of the message; "" = fine
	}{
		"admin":                  {admin("a"), ""},
		"client":                 {Spec{Subject: "user:ann", Access: []Role{Client}, Warehouses: []string{"W1"}}, ""},
		"kiosk of a role":        {Spec{Subject: "service:kiosk", Access: []Role{Client}, Subscribers: []string{"role:keeper"}, Warehouses: []string{"W1"}}, ""},
		"service":                {Spec{Subject: "service:wms", Access: []Role{Service, Producer}, Warehouses: []string{"*"}}, ""},
		"no subject":             {Spec{Access: []Role{Admin}}, "subject: neither"},
		"a role is no subject":   {Spec{Subject: "role:keeper", Access: []Role{Admin}}, "subject: neither"},
		"no access":              {Spec{Subject: "user:ann"}, "access: name at least one"},
		"unknown access":         {Spec{Subject: "user:ann", Access: []Role{"root"}}, `access: "root" is not one`},
		"client nowhere":         {Spec{Subject: "user:ann", Access: []Role{Client}}, "warehouses: name the warehouses"},
		"producer nowhere":       {Spec{Subject: "service:a", Access: []Role{Producer, Operator}}, "warehouses: name the warehouses"},
		"bad warehouse":          {Spec{Subject: "user:ann", Access: []Role{Client}, Warehouses: []string{"W 1"}}, "warehouses: \"W 1\""},
		"client of nobody":       {Spec{Subject: "service:kiosk", Access: []Role{Client}, Warehouses: []string{"W1"}}, "subscribers: name the user"},
		"client of two":          {Spec{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:bob"}, Warehouses: []string{"W1"}}, "subscribers: a client is one user"},
		"bad subscriber":         {Spec{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"keeper"}, Warehouses: []string{"W1"}}, `subscribers: "keeper"`},
		"shadow is no client's":  {Spec{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"shadow:r"}, Warehouses: []string{"W1"}}, `subscribers: "shadow:r"`},
		"subscribers of admins":  {Spec{Subject: "user:ann", Access: []Role{Admin}, Subscribers: []string{"role:keeper"}}, "subscribers: only a client"},
		"expired":                {Spec{Subject: "user:ann", Access: []Role{Admin}, Expires: now}, "expires: 2026-06-01T00:00:00Z is in the past"},
		"a long name":            {Spec{Name: strings.Repeat("a", 101), Subject: "user:ann", Access: []Role{Admin}}, "name: at most 100"},
		"a name with a new line": {Spec{Name: "a\nb", Subject: "user:ann", Access: []Role{Admin}}, "name: "},
	} {
		token, secret, faults := NewToken(c.spec, "user:root", now)
		var got []string
		for _, f := range faults {
			got = append(got, f.Field+": "+f.Message)
		}
		field, piece, _ := strings.Cut(c.fault, ": ")
		switch {
		case c.fault == "" && (len(got) > 0 || !whole(secret) || len(token.Hash) != 32 || token.CreatedBy != "user:root"):
			t.Errorf("%s: %v", name, got)
		case c.fault != "" && (len(got) != 1 || !strings.HasPrefix(got[0], field+": ") || !strings.Contains(got[0], piece) || secret != ""):
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatGoesWithoutSaying(t *testing.T) {
	t.Parallel()
	now := time.Now()
	token, _, faults := NewToken(Spec{
		Subject: "user:ann", Access: []Role{Operator, Client, Client}, Subscribers: []string{"role:b", "role:a", "role:a"}, Warehouses: []string{"W2", "W1", "W2"},
	}, "", now)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if diff := cmp.Diff([][]string{{"client", "operator"}, {"role:a", "role:b", "user:ann"}, {"W1", "W2"}, {"user:ann"}},
		[][]string{token.Access, token.Subscribers, token.Warehouses, {token.Name}}); diff != "" {
		t.Error(diff)
	}
	token, _, _ = NewToken(Spec{Subject: "user:ann", Access: []Role{Viewer}}, "", now)
	if diff := cmp.Diff([]string{"*"}, token.Warehouses); diff != "" || token.Subscribers != nil {
		t.Error(diff, token.Subscribers)
	}
}

func TestSecretsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		s := NewSecret()
		if !strings.HasPrefix(s, "tly_") || len(s) != 43 || !whole(s) || seen[s] {
			t.Fatalf("%q", s)
		}
		seen[s] = true
		for i := len(SecretPrefix); i < len(s)-1; i++ { // the last character has bits to spare
			if bad := s[:i] + string(s[i]^1) + s[i+1:]; whole(bad) {
				t.Fatalf("%q passes for whole, made of %q", bad, s)
			}
		}
		for _, bad := range []string{s[:len(s)-1], s + "a", strings.ToUpper(s), "tly_", ""} {
			if whole(bad) {
				t.Fatalf("%q passes for whole", bad)
			}
		}
	}
}

func TestIDsSayNothingOfTheSecret(t *testing.T) {
	t.Parallel()
	s := NewSecret()
	id := tokenID(HashSecret(s))
	if !strings.HasPrefix(id, "t_") || len(id) != 14 || strings.Contains(s, id[2:]) {
		t.Errorf("%s of %s", id, s)
	}
}
