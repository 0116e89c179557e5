package api_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/api/operate"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/logging"
)

func TestLogLevel(t *testing.T) {
	t.Parallel()
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	b := newBundle(func(p *parts) { p.Log = &operate.Log{Node: "one", Level: level, Configured: slog.LevelInfo} })
	const path = "/api/v1/log"
	if got := b.handleBody(t, http.MethodGet, path, ""); got.status != http.StatusOK || !strings.Contains(got.body, `{"node":"one","level":"warn","configured":"info"}`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	got := b.handleBody(t, http.MethodPost, path+"/level", `{"level":"debug"}`, "Content-Type", "application/json")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"level":"debug"`) || level.Level() != slog.LevelDebug {
		t.Errorf("set: %d %s, level %s", got.status, got.body, level)
	}
	list := b.audit.all()
	if len(list) != 1 || list[0].Action != "log.level" || list[0].Object != "log:one" || string(list[0].Before) != `{"level":"warn"}` || string(list[0].After) != `{"level":"debug"}` {
		t.Errorf("recorded: %+v", list)
	}
	for _, bad := range []string{`{"level":"loud"}`, `{"level":"DEBUG"}`, `{}`, `{"level":""}`} {
		if got := b.handleBody(t, http.MethodPost, path+"/level", bad, "Content-Type", "application/json"); got.status/100 != 4 {
			t.Errorf("%s: %d %s", bad, got.status, got.body)
		}
	}
	b.audit.fail(errors.Join(ledger.ErrNotRecorded, errors.New("down")))
	if got := b.handleBody(t, http.MethodPost, path+"/level", `{"level":"error"}`, "Content-Type", "application/json"); got.status != http.StatusServiceUnavailable {
		t.Errorf("without its record: %d %s", got.status, got.body)
	}
	if level.Level() != slog.LevelDebug {
		t.Errorf("what was refused has set the level %s", level)
	}
}

// badTokens knows no token.
type badTokens struct{}

func (badTokens) Authenticate(*http.Request) (auth.Identity, error) {
	return auth.Identity{}, auth.ErrBadToken
}

// A client with a wrong token that asks again and again has a few lines at INFO, and then a count.
func TestRefusalsAreFewLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log, _ := logging.New(&out, "text", slog.LevelInfo)
		b := newBundle(func(p *parts) { p.Auth, p.Logger = badTokens{}, log })
		for range 1000 {
			if got := b.handleBody(t, http.MethodGet, "/api/v1/status", "", "Authorization", "Bearer x"); got.status != http.StatusUnauthorized {
				t.Fatalf("answer %d %s", got.status, got.body)
			}
		}
		time.Sleep(time.Minute) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 6 || !strings.Contains(out.String(), `msg="Further requests were refused." count=995`) {
			t.Errorf("%d lines: %.2000s", n, out.String())
		}
	})
}
