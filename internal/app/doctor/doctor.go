// Package doctor looks at a site from its configuration: the machine, the ledger, Redis, the sources and the sinks
// (tallyman doctor). It also looks at a ledger alone (tallyman ledger verify). It changes nothing and sends nothing.
//
// A check is a function in the list checks. It returns Findings. Each finding has a code that does not change, and a
// way out where something is wrong. The package uses the checks of the node and of other commands, and adds checks that
// only an operator needs.
package doctor

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/wire"
)

// State is the result of a check.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning" // The part works, but not as it should, or not for long.
	Wrong   State = "wrong"
	Skipped State = "skipped" // The part was not checked; Found says why.
)

// Finding is one line of a report.
type Finding struct {
	Code   string `json:"code"`
	About  string `json:"about,omitempty"` // The name of a source or a sink.
	State  State  `json:"state"`
	Found  string `json:"found"`
	WayOut string `json:"way_out,omitempty"` // What to do. Empty where nothing is known to be wrong.
}

// The codes of findings.
const (
	CodeVersion          = "version"
	CodeConfig           = "config"
	CodeListen           = "listen"
	CodeOpenFiles        = "open_files"
	CodeTimeZones        = "time_zones"
	CodeDisk             = "disk"
	CodeCertificate      = "certificate"
	CodeLedgerReach      = "ledger_reach"
	CodeLedgerSchema     = "ledger_schema"
	CodeLedgerClock      = "ledger_clock"
	CodeLedgerRights     = "ledger_rights"
	CodeRedisReach       = "redis_reach"
	CodeRedisPolicy      = "redis_policy"
	CodeRedisMemory      = "redis_memory"
	CodeRedisPersistence = "redis_persistence"
	CodeRedisClock       = "redis_clock"
	CodeSourceReach      = "source_reach"
	CodeSourceRights     = "source_rights"
	CodeSourceClock      = "source_clock"
	CodeSourceZone       = "source_zone"
	CodeSinkReach        = "sink_reach"
	CodeServer           = "server"
)

// Options are the inputs that the checks need in addition to the configuration of the site.
type Options struct {
	Version string // The version of this program.
}

// timeout bounds each check.
const timeout = 15 * time.Second

type check func(ctx context.Context, cfg *config.Config, o Options) []Finding

// checks are the checks, in the order of the report.
var checks = []check{checkVersion, checkConfig, checkListen, checkOpenFiles, checkTimeZones, checkDisk, checkCertificate, checkLedger, checkRedis, checkSources, checkSinks}

// Examine runs every check. The configuration is complete: it was not loaded lazily.
func Examine(ctx context.Context, cfg *config.Config, o Options) []Finding {
	found := make([][]Finding, len(checks))
	var g errgroup.Group
	for i, look := range checks {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			found[i] = look(ctx, cfg, o)
			return nil
		})
	}
	_ = g.Wait() // There is no error: each check has its own findings.
	return slices.Concat(found...)
}

// IsWrong tells whether a finding of the list has the state Wrong.
func IsWrong(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.State == Wrong })
}

func ok(code, about, format string, args ...any) Finding {
	return Finding{Code: code, About: about, State: OK, Found: fmt.Sprintf(format, args...)}
}

func skipped(code, about, format string, args ...any) Finding {
	return Finding{Code: code, About: about, State: Skipped, Found: fmt.Sprintf(format, args...)}
}

func warning(code, about, found, wayOut string) Finding {
	return Finding{Code: code, About: about, State: Warning, Found: found, WayOut: wayOut}
}

func wrong(code, about, found, wayOut string) Finding {
	return Finding{Code: code, About: about, State: Wrong, Found: found, WayOut: wayOut}
}

func checkVersion(_ context.Context, _ *config.Config, o Options) []Finding {
	return []Finding{ok(CodeVersion, "", "tallyman %s, %s, %s/%s", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)}
}

// checkConfig reports what would keep a node from starting, and subscriptions that no rule serves.
func checkConfig(ctx context.Context, cfg *config.Config, _ Options) []Finding {
	var list []Finding
	for _, p := range app.CheckConfig(ctx, cfg) {
		list = append(list, wrong(CodeConfig, "", p.Error(), p.Hint))
	}
	for _, p := range app.ConfigWarnings(cfg) {
		list = append(list, warning(CodeConfig, "", p.Error(), p.Hint))
	}
	if len(list) == 0 {
		list = append(list, ok(CodeConfig, "", "%s is fine", cfg.File))
	}
	return list
}

// OfServer returns findings about a running server, from its status. version is the version of this program.
func OfServer(report *wire.StatusReport, version string) []Finding {
	var list []Finding
	if report.Version != version {
		list = append(list, warning(CodeServer, report.Node, fmt.Sprintf("the node runs version %s, this program is %s", report.Version, version), "run the same version on both: docs/how-to/upgrade-and-go-back.md"))
	}
	for i := range report.Health {
		h := &report.Health[i]
		if !h.OK {
			list = append(list, wrong(CodeServer, report.Node, strings.TrimSpace(h.Part+" "+h.Name)+": "+h.Error, "see `tallyman status`"))
		}
	}
	if len(list) == 0 {
		list = append(list, ok(CodeServer, report.Node, "the node runs version %s, and its dependencies are well", report.Version))
	}
	return list
}

// ServerOut returns the finding about a server that does not answer with its status.
func ServerOut(err error) Finding {
	return wrong(CodeServer, "", "the server did not return its status: "+err.Error(), "start the node, or name another server with --server and a token with --token-file")
}

// apartOut is the way out for clocks that differ.
const apartOut = "synchronize both clocks with NTP"
