package app

import (
	"cmp"
	"os"
	"regexp"
	"strings"

	"tallyman/internal/config"
	"tallyman/internal/session"
)

// unfit matches characters that a host name may have and a node's name may not.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// longestName is the largest length of a node's name.
const longestName = 64

// hostName returns the name of a node without a name in the configuration. The name is the same after a restart.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return nameOf("")
	}
	return nameOf(host)
}

// nameOf makes a valid node name of a host name.
func nameOf(host string) string {
	name := strings.TrimLeft(unfit.ReplaceAllString(host, "-"), "_.-")
	return cmp.Or(name[:min(len(name), longestName)], "node")
}

// newSession makes the keeper of the node's session. With an SQLite ledger the node is alone.
func (a *App) newSession() *session.Keeper {
	return session.New(session.Options{
		Ledger: a.ledger, Node: a.opts.Node, Version: a.opts.Version, Lease: cmp.Or(a.opts.Lease, a.cfg.Node.Lease),
		Alone: a.cfg.Ledger.Driver == config.SQLite, Observe: a.meter.SessionEvent, Turned: func() { a.pulse.turned("session") }, Logger: a.log,
	})
}
