package ledgertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// triers is the number of commits that two nodes try at the same time.
const triers = 5

var refusalTests = []testCase{
	{"a tried commit leaves nothing, even if other nodes try at the same moment", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, nil)
		before, err := f.LastRuns(t.Context())
		noError(t, err)
		nodes := []ledger.Ledger{f.Ledger, f.other(t)}
		var all sync.WaitGroup
		for i := range triers {
			all.Go(func() {
				if err := nodes[i%2].TryCommit(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		after, err := f.LastRuns(t.Context())
		noError(t, err)
		equal(t, before, after)
		scopes, err := f.Removed(t.Context(), nil)
		noError(t, err)
		equal(t, 1, len(scopes))
		f.commit(t, 2, nil)
	}},
	{"only the database refuses: an answer, an end and a lost connection are no refusals", func(t *testing.T, f *fixture) {
		for _, err := range []error{nil, ledger.ErrFenced, ledger.ErrDone, context.Canceled, errors.New("connection refused")} {
			if r, refused := f.Refusal(err); refused {
				t.Errorf("%v is the refusal %v", err, r)
			}
		}
		c, err := f.Claim(t.Context(), rule, scope, 0, due(1), "a", time.Minute)
		if r, refused := f.Refusal(err); err == nil || refused {
			t.Errorf("%+v %v is the refusal %v", c, err, r)
		}
	}},
	{"a constraint is named, and no value of the record", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, nil, insert("secret-key")...)
		c, err := f.Claim(t.Context(), rule, scope, 0, due(2), "a", 0)
		noError(t, err)
		run := commitOf(c)
		run.Findings = insert("secret-key")
		_, err = f.Commit(t.Context(), c, run)
		r, refused := f.Refusal(err)
		if !refused || r.Reason != ledger.RefusedConstraint || r.Code == "" || containsSecret(r.String()) {
			t.Errorf("%v is the refusal %v", err, r)
		}
	}},
}

func containsSecret(text string) bool {
	return strings.Contains(text, "secret") || strings.Contains(text, scope)
}
