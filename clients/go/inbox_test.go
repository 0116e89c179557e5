package tallyman_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tallyman "tallyman/clients/go"
)

// notice is a notice in JSON.
func notice(id string) string {
	return fmt.Sprintf(`{"id":%q,"type":"REP_NOTICE","title":%q,"createdAt":"2026-05-01T14:00:00Z","expiresAt":"2026-05-04T14:00:00Z","data":{},"labels":{}}`, id, id)
}

func page(cursor, notices, more string) string {
	return fmt.Sprintf(`{"cursor":%q,"notices":[%s],"changes":[],"unread":0,"unreadMore":false,"more":false,"reset":%t%s}`, cursor, notices, more != "", more)
}

// inboxOf is an inbox whose service answers polls by their cursor: the first time with what the map has, then with silence until the poll ends.
func inboxOf(t *testing.T, store tallyman.Store, answer func(w http.ResponseWriter, after string) bool) *tallyman.Inbox {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		if !answer(w, r.URL.Query().Get("after")) {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	client, err := tallyman.New(server.URL, tallyman.Token("secret"))
	if err != nil {
		t.Fatal(err)
	}
	return &tallyman.Inbox{Client: client, Warehouse: "119240", Subscribers: []string{"role:keeper"}, Store: store}
}

// A follower that starts again goes on after the handled notices, also when the service begins a new window. Notices
// that were not handled come again.
func TestFollowGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cursor")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failure := errors.New("the printer is out of paper")
	first := inboxOf(t, tallyman.NewFileStore(path), func(w http.ResponseWriter, after string) bool {
		if after != "" {
			return false
		}
		fmt.Fprint(w, page("c1", notice("n_1")+","+notice("n_2"), ""))
		return true
	})
	err := first.Follow(ctx, func(_ context.Context, n tallyman.Notice) error {
		if n.Id == "n_2" {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) {
		t.Fatalf("Follow ends with %v", err)
	}
	// A kill has cut the last line off.
	if file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	} else if _, err := file.WriteString(`{"handled":"n_`); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	second := inboxOf(t, tallyman.NewFileStore(path), func(w http.ResponseWriter, after string) bool {
		switch after {
		case "":
			fmt.Fprint(w, page("c1", notice("n_1")+","+notice("n_2"), ""))
		case "c1":
			fmt.Fprint(w, page("c2", notice("n_1")+","+notice("n_3"), `,"resetReason":"index_rebuilt","missed":2`))
		default:
			return false
		}
		return true
	})
	var handled, reasons []string
	second.OnReset = func(_ context.Context, r tallyman.Reset) error {
		reasons = append(reasons, fmt.Sprint(r.Reason, *r.Missed))
		return nil
	}
	err = second.Follow(ctx, func(_ context.Context, n tallyman.Notice) error {
		handled = append(handled, n.Id)
		if n.Id == "n_3" {
			stop()
		}
		return nil
	})
	if err != nil || !slices.Equal(handled, []string{"n_2", "n_3"}) || !slices.Equal(reasons, []string{"index_rebuilt2"}) {
		t.Errorf("%v, handled %v, resets %v", err, handled, reasons)
	}
	place, err := tallyman.NewFileStore(path).Load(t.Context())
	if slices.Sort(place.Handled); err != nil || place.Cursor != "c2" || !slices.Equal(place.Handled, []string{"n_1", "n_2", "n_3"}) {
		t.Errorf("%v, the file has %+v", err, place)
	}
}

// A service that cannot answer is asked again after the time that it asks for; one that does not know the cursor is asked without; a refusal ends Follow.
func TestFollowTriesAgain(t *testing.T) {
	t.Parallel()
	store := tallyman.NewFileStore(filepath.Join(t.TempDir(), "cursor"))
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(t.Context(), tallyman.Step{Cursor: "old"}); err != nil {
		t.Fatal(err)
	}
	var asked []time.Time
	inbox := inboxOf(t, store, func(w http.ResponseWriter, after string) bool {
		asked = append(asked, time.Now())
		w.Header().Set("Content-Type", "application/problem+json")
		switch {
		case len(asked) == 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case after == "old":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"title":"Bad Request","status":400,"code":"bad_cursor","detail":"unknown"}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"title":"Forbidden","status":403,"code":"warehouse_denied","detail":"119240"}`)
		}
		return true
	})
	var reason string
	inbox.OnReset = func(_ context.Context, r tallyman.Reset) error {
		reason = r.Reason
		return nil
	}
	err := inbox.Follow(t.Context(), func(context.Context, tallyman.Notice) error { return nil })
	var problem *tallyman.ProblemError
	if !errors.As(err, &problem) || problem.Code != "warehouse_denied" || reason != "bad_cursor" || len(asked) != 3 {
		t.Fatalf("%v, reset %q, asked %d times", err, reason, len(asked))
	}
	if pause := asked[1].Sub(asked[0]); pause < time.Second || pause > 5*time.Second {
		t.Errorf("asked again after %v", pause)
	}
}

// A file of somebody else is left as it is.
func TestFileStoreKeepsTheFilesOfOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	load := func(text string) error {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := tallyman.NewFileStore(path).Load(t.Context())
		return err
	}
	for _, text := range []string{
		"buy milk\n", "buy milk", "\n", "{", "{}", "{}\n", "null\n", "7", `"cursor"`, "[]\n{\"cursor\":\"a\"}\n", `{"name":"app","version":1}`, `{"name":"app"}` + "\n",
		`{"cursor":"a","page":2}` + "\n", `{"cursor":null}` + "\n", `{"handled":"n_1","at":1}` + "\n", `{"cursor":"a`,
	} {
		err := load(text)
		if is, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "not a file of a follower") || string(is) != text {
			t.Errorf("%q: %v, and the file has %q", text, err, is)
		}
	}
	for _, text := range []string{"", `{"cursor":"a"}`, `{"cursor":""}` + "\n", `{"cursor":"a"}` + "\n" + `{"hand`, `{"cursor":"a"}` + "\n{\x00\n" + `{"handled":"n_1","at":1}` + "\n"} {
		if err := load(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
