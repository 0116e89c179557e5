package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/rulediff"
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/app"
	"tallyman/internal/app/doctor"
	"tallyman/internal/app/sourcetest"
	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/internal/demo"
	"tallyman/internal/ledger"
	"tallyman/internal/text"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// The exit codes.
const (
	ExitFine        = 0
	ExitProblems    = 1
	ExitUsage       = 2
	ExitUnreachable = 3
)

// exitCodes has the meaning of each exit code, for the help and the reference.
var exitCodes = [...]string{
	ExitFine: "fine", ExitProblems: "the command found problems, or the server refused the request", ExitUsage: "wrong usage",
	ExitUnreachable: "something could not be reached, or is busy",
}

// Process has the arguments, the environment, the streams and the signals that the operating system gives to the
// program.
type Process struct {
	Args     []string // without the program's name
	Env      []string // NAME=value
	In       io.Reader
	Out, Err io.Writer
	// Hangup returns a channel of the signals after which a server reads its rule files again. The signals arrive from
	// the call on. Nil means the system has no such signals. Only serve calls it, so the signals end other commands.
	Hangup func() <-chan os.Signal
}

// Run runs one command and returns the exit code.
func Run(ctx context.Context, p Process, s Services) int {
	shown := text.NewWriter(p.Err) // makes control characters visible, because errors quote servers and files
	defer func() { _ = shown.Flush() }()
	p.Err = shown
	c := &command{Process: p, services: s}
	root := c.root() //nolint:contextcheck // a command gets the context from cobra when it runs
	root.SetArgs(p.Args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitFine
	}
	code := c.exitCode(err)
	c.complain(cmd, err, code)
	return code
}

// command is one run of the program.
type command struct {
	Process
	services Services
	started  bool // the command line was valid, and the work of the command has begun

	config    string
	set       []string
	output    string
	server    string
	tokenFile string // value of --token-file
	caFile    string // value of --ca-file
	listen    string // flag of serve, overrides http.listen
	logLevel  string // flag of serve, overrides telemetry.log.level
	logFormat string // flag of serve, overrides telemetry.log.format
}

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error // nil = the command has printed everything
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{ExitUsage, fmt.Errorf(format, args...)}
}

func unreachable(err error) error { return &exitError{ExitUnreachable, err} }

// found returns the error of a command that has printed the problems that it found.
func found() error { return &exitError{code: ExitProblems} }

func (c *command) exitCode(err error) int {
	var exit *exitError
	var netErr *net.OpError
	var urlErr *url.Error
	switch {
	case errors.As(err, &exit):
		return exit.code
	case !c.started, errors.Is(err, terminal.ErrNoAnswer):
		return ExitUsage
	case errors.As(err, &netErr) && netErr.Op == "dial", errors.As(err, &urlErr), errors.Is(err, ledger.ErrInUse):
		return ExitUnreachable
	default:
		return ExitProblems
	}
}

// complain prints the error. For wrong usage it also prints how to get help.
func (c *command) complain(cmd *cobra.Command, err error, code int) {
	var list problem.List
	var netErr *net.OpError
	switch {
	case err.Error() == "":
	case errors.As(err, &list):
		printProblems(c.Err, list)
	case errors.As(err, &netErr) && netErr.Op == "listen":
		fmt.Fprintf(c.Err, "tallyman: cannot listen on %s: %v; choose another address with --listen\n", netErr.Addr, netErr.Err)
	default:
		fmt.Fprintf(c.Err, "tallyman: %v\n", err)
	}
	if code == ExitUsage && cmd != nil {
		fmt.Fprintf(c.Err, "See: %s --help\n", cmd.CommandPath())
	}
}

func printProblems(w io.Writer, list problem.List) {
	for _, p := range list {
		fmt.Fprintln(w, p.String())
	}
}

// getenv returns the variable, or "".
func (c *command) getenv(name string) string {
	for _, e := range c.Env {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// Services has the functions of the commands that need no server.
type Services struct {
	// Serve runs a node until ctx ends.
	Serve func(ctx context.Context, cfg *config.Config, o ServeOptions) error
	// Migrate brings the ledger's schema up to date, and returns the steps that it has run.
	Migrate func(ctx context.Context, cfg *config.Config, o app.MigrateOptions) ([]ledger.Migration, error)
	// OtherNodes returns the live nodes that run another version of the program.
	OtherNodes func(ctx context.Context, cfg *config.Config, version string) ([]ledger.Node, error)
	// MigrateStatus returns every step, the pending ones without a time.
	MigrateStatus func(ctx context.Context, cfg *config.Config) ([]ledger.Migration, error)
	// CheckRules checks rule files. Without cfg it checks only what needs no source, sink or type.
	CheckRules func(ctx context.Context, cfg *config.Config, o authoring.CheckOptions) (authoring.Checked, error)
	// CheckSources asks every source what its user may do besides reading.
	CheckSources func(ctx context.Context, cfg *config.Config) []app.SourceCheck
	// Examine checks the site that the configuration describes.
	Examine func(ctx context.Context, cfg *config.Config, o doctor.Options) []doctor.Finding
	// VerifyLedger checks the ledger alone.
	VerifyLedger func(ctx context.Context, cfg *config.Config) []doctor.Finding
	// BackUp copies an SQLite ledger into a new file. The error of a ledger in PostgreSQL is an app.ServerError.
	BackUp func(ctx context.Context, cfg *config.Config, file string) (*app.Backup, error)
	// TestSource runs the test suite of the drivers against a database server.
	TestSource func(ctx context.Context, o sourcetest.Target) (*sourcetest.Report, error)
	// OpenRuleMaker opens a source to make a rule from one of its tables.
	OpenRuleMaker func(ctx context.Context, cfg *config.Config, source string) (*authoring.RuleMaker, error)
	// PreviewRule runs a rule on its source, and writes nothing.
	PreviewRule func(ctx context.Context, cfg *config.Config, o authoring.PreviewOptions) (*preview.Preview, error)
	// DiffRules compares two versions of rule files. If cfg is nil, it does not run them.
	DiffRules func(ctx context.Context, cfg *config.Config, o authoring.DiffOptions) (*rulediff.Diff, error)
	// TestRules runs rule tests. cfg is nil if the tests need no types and no source of the configuration.
	TestRules func(ctx context.Context, cfg *config.Config, o authoring.TestOptions) (*ruletest.Report, error)
	// OpenTokens opens the configured ledger for its tokens alone. OpenTokens returns ledger.ErrInUse while a server
	// has the ledger open.
	OpenTokens func(ctx context.Context, cfg *config.Config) (TokenLedger, error)
	// Demo runs the simulated warehouse until ctx ends or o.For is over.
	Demo func(ctx context.Context, o DemoOptions) error
}

// ServeOptions are the settings of a node in addition to its configuration.
type ServeOptions struct {
	Logger   *slog.Logger
	LogLevel *slog.LevelVar // of the Logger
	Version  string
	Migrate  bool                 // bring the schema of a shared ledger up to date before the start
	Ready    func(address string) // called when the node listens
	Out      io.Writer            // output of the sinks of type stdout
	Hangup   <-chan os.Signal     // each signal makes the node read the rule files again; nil = none
}

// DemoOptions says how the demo runs.
type DemoOptions struct {
	Listen  string
	Seed    uint64
	Speed   float64       // speed of the simulated time: 60 = a minute in each second
	For     time.Duration // 0 = until it is stopped
	Workers int           // workers that lease items of the queue
	Version string
	Out     io.Writer
	Color   bool
	Browse  bool // open the console in a browser
}

// Default returns the services of the program.
func Default() Services {
	commands := app.Authoring()
	return Services{
		Serve:         runNode,
		Migrate:       app.Migrate,
		OtherNodes:    app.OtherNodes,
		MigrateStatus: app.MigrateStatus,
		CheckRules:    commands.Check,
		CheckSources:  app.CheckSources,
		Examine:       doctor.Examine,
		VerifyLedger:  doctor.Verify,
		BackUp:        app.BackUp,
		TestSource:    sourcetest.Run,
		OpenRuleMaker: func(ctx context.Context, cfg *config.Config, source string) (*authoring.RuleMaker, error) {
			m, err := commands.OpenRuleMaker(ctx, cfg, source)
			return m, siteError(err)
		},
		PreviewRule: func(ctx context.Context, cfg *config.Config, o authoring.PreviewOptions) (*preview.Preview, error) {
			p, err := commands.Preview(ctx, cfg, o)
			return p, siteError(err)
		},
		DiffRules: func(ctx context.Context, cfg *config.Config, o authoring.DiffOptions) (*rulediff.Diff, error) {
			d, err := commands.Diff(ctx, cfg, o)
			return d, siteError(err)
		},
		TestRules: func(ctx context.Context, cfg *config.Config, o authoring.TestOptions) (*ruletest.Report, error) {
			r, err := commands.Test(ctx, cfg, o)
			return r, siteError(err)
		},
		OpenTokens: func(ctx context.Context, cfg *config.Config) (TokenLedger, error) { return app.OpenTokens(ctx, cfg) },
		Demo: func(ctx context.Context, o DemoOptions) error {
			return demo.Run(ctx, demo.Options(o))
		},
	}
}

// runNode runs one node until ctx ends.
func runNode(ctx context.Context, cfg *config.Config, o ServeOptions) (err error) {
	app.LogRedisTo(o.Logger)
	defer app.SpareHeap()()
	node, err := app.New(ctx, cfg, app.Options{Logger: o.Logger, LogLevel: o.LogLevel, Version: o.Version, Migrate: o.Migrate, Stdout: o.Out, Hangup: o.Hangup})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }() //nolint:contextcheck // what is given back must not depend on a context that may be over
	o.Ready(node.Addr())
	return node.Run(ctx)
}

// siteError adds the exit code to an error of a command that uses the site's databases.
func siteError(err error) error {
	var wrong *authoring.UsageError
	var scan *scanners.Error
	switch {
	case errors.As(err, &wrong):
		return usage("%w", err)
	case errors.As(err, &scan) && scan.Transient:
		return unreachable(err)
	}
	return err
}
