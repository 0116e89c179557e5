package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/internal/text"
	"tallyman/rules/problem"
)

// The exit codes, as `tallyman --help` tells them.
const (
	ExitFine        = 0
	ExitProblems    = 1
	ExitUsage       = 2
	ExitUnreachable = 3
)

// Process is what a program has from its surroundings.
type Process struct {
	Args     []string // without the program's name
	Env      []string // NAME=value
	In       io.Reader
	Out, Err io.Writer
	// Hangup has the signals on which a server reads its rule files again, from when it is called; nil = there are none. Other commands
	// leave them to the system.
	Hangup func() <-chan os.Signal
}

// Run runs one command and returns the exit code.
func Run(ctx context.Context, p Process, s Services) int {
	shown := text.NewWriter(p.Err) // errors repeat what servers, files and people have said
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
	started  bool // the command line was fine, and the command's own work began

	config    string
	set       []string
	output    string
	server    string
	tokenFile string // of --token-file
	caFile    string // of --ca-file
	listen    string // serve's, over http.listen
}

// exitError carries the exit code of an error that says nothing more, or everything, itself.
type exitError struct {
	code int
	err  error // nil where all has been printed
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

// found ends a command that printed the problems that it found.
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

// complain prints the error, and where the command line was wrong how to learn more.
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
