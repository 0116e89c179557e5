package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
)

// local runs a command with the services in a folder that has an empty configuration.
func local(t *testing.T, s Services, args ...string) (code int, out, errOut string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tallyman.yaml")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	if args[0] != "demo" {
		args = append(args, "--config", file)
	}
	code = Run(t.Context(), Process{Args: args, Out: &o, Err: &e}, s)
	return code, o.String(), e.String()
}

func TestServePassesItsFlagsOn(t *testing.T) {
	t.Parallel()
	s := Services{Serve: func(_ context.Context, cfg *config.Config, o ServeOptions) error {
		o.Logger.Warn("hello")
		o.Logger.Info("not this")
		o.LogLevel.Set(slog.LevelInfo)
		o.Ready(cfg.HTTP.Listen)
		if !o.Migrate || o.Version == "" {
			return fmt.Errorf("got %+v", o)
		}
		return nil
	}}
	code, out, errOut := local(t, s, "serve", "--listen", "127.0.0.1:77", "--migrate", "--log-level", "warn", "--log-format", "json")
	if code != ExitFine || out != "" {
		t.Errorf("got %d %q %q", code, out, errOut)
	}
	for _, want := range []string{`"msg":"hello"`, `"msg":"Listening on","url":"http://127.0.0.1:77"`} {
		if !strings.Contains(errOut, want) || strings.Contains(errOut, "not this") {
			t.Errorf("log without %s: %s", want, errOut)
		}
	}
}

func TestDemoPassesItsFlagsOn(t *testing.T) {
	t.Parallel()
	s := Services{Demo: func(_ context.Context, o DemoOptions) error {
		fmt.Fprintf(o.Out, "%s %d %g %s %d %v", o.Listen, o.Seed, o.Speed, o.For, o.Workers, o.Color)
		return nil
	}}
	code, out, errOut := local(t, s, "demo", "--listen", "127.0.0.1:1", "--seed", "7", "--speed", "0.5", "--for", "30s", "--workers", "2")
	if code != ExitFine || out != "127.0.0.1:1 7 0.5 30s 2 false" {
		t.Errorf("got %d %q %q", code, out, errOut)
	}
}

func TestExitCodesOfFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"refused": {fmt.Errorf("open the ledger: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), ExitUnreachable},
		"no file": {fmt.Errorf("read the rules: %w", fs.ErrNotExist), ExitProblems},
		"schema":  {ledger.ErrSchema, ExitProblems},
		"in use":  {fmt.Errorf("open the ledger: %w", ledger.ErrInUse), ExitUnreachable},
	} {
		s := Services{Serve: func(context.Context, *config.Config, ServeOptions) error { return c.err }}
		code, _, errOut := local(t, s, "serve")
		if code != c.code || errOut != "tallyman: "+c.err.Error()+"\n" {
			t.Errorf("%s: got %d %q", name, code, errOut)
		}
	}
}

func TestAnAddressThatIsTakenNamesTheFlag(t *testing.T) {
	t.Parallel()
	taken := &net.OpError{Op: "listen", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, Err: errors.New("in use")}
	s := Services{Serve: func(context.Context, *config.Config, ServeOptions) error { return fmt.Errorf("start: %w", taken) }}
	code, _, errOut := local(t, s, "serve")
	if want := "tallyman: cannot listen on 127.0.0.1:8080: in use; choose another address with --listen\n"; code != ExitProblems || errOut != want {
		t.Errorf("got %d %q", code, errOut)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	steps := []ledger.Migration{{Version: 1, Name: "start", Phase: ledger.Expand, Applied: at}, {Version: 2, Name: "more", Phase: ledger.Contract, Oldest: 2, Locks: "stock", Lasts: "1 s"}}
	list := func(l ...ledger.Migration) func(context.Context, *config.Config) ([]ledger.Migration, error) {
		return func(context.Context, *config.Config) ([]ledger.Migration, error) { return l, nil }
	}
	var asked app.MigrateOptions
	s := Services{
		Migrate: func(_ context.Context, _ *config.Config, o app.MigrateOptions) (applied []ledger.Migration, _ error) {
			if asked = o; o.Expand {
				applied = steps[1:]
			}
			return applied, nil
		},
		MigrateStatus: list(steps...),
		OtherNodes: func(_ context.Context, _ *config.Config, version string) ([]ledger.Node, error) {
			return []ledger.Node{{Name: "wms-1", Version: "before " + version}}, nil
		},
	}
	if code, out, _ := local(t, s, "migrate", "up"); code != ExitFine || out != "Nothing to do: the schema is up to date.\n" {
		t.Errorf("up: %d %q", code, out)
	}
	want := "VERSION  NAME   PHASE     APPLIED\n1        start  expand    2026-06-01T08:00:00Z\n2        more   contract  pending\n"
	if code, out, _ := local(t, s, "migrate", "status"); code != ExitProblems || out != want {
		t.Errorf("status: %d\n%s", code, out)
	}
	if want := (app.MigrateOptions{Version: buildVersion().Version}); asked != want {
		t.Errorf("up asks for %+v, want %+v", asked, want)
	}
	if _, out, _ := local(t, s, "migrate", "up", "--expand"); !strings.Contains(out, "more") {
		t.Errorf("up --expand: %s", out)
	}
	if local(t, s, "migrate", "up", "--force"); !asked.Force {
		t.Errorf("up --force asks for %+v", asked)
	}
	plan := "VERSION  NAME  PHASE     LOCKS  LASTS\n2        more  contract  stock  1 s\n" +
		"Version 1 of the schema cannot go on: stop all of its nodes before the contract step.\n" +
		"Node wms-1 runs version before " + buildVersion().Version + " of the program.\n"
	if code, out, _ := local(t, s, "migrate", "up", "--plan"); code != ExitFine || out != plan {
		t.Errorf("up --plan: %d\n%s", code, out)
	}
	if _, out, _ := local(t, s, "migrate", "up", "--plan", "-o", "json"); !strings.Contains(out, `"old_version": "stops"`) || !strings.Contains(out, `"name": "wms-1"`) {
		t.Errorf("up --plan as JSON: %s", out)
	}
	if _, out, _ := local(t, s, "migrate", "up", "--plan", "--expand"); out != "Nothing to do: the schema is up to date.\n" {
		t.Errorf("up --plan --expand: %s", out)
	}
	if _, out, _ := local(t, s, "migrate", "status", "-o", "json"); !strings.Contains(out, `"applied": null`) {
		t.Errorf("status as JSON: %s", out)
	}
	s.MigrateStatus = list(steps[0])
	if code, _, _ := local(t, s, "migrate", "status"); code != ExitFine {
		t.Errorf("status of an applied schema: %d", code)
	}
}
