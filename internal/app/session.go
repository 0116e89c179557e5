package app

import (
	"cmp"
	"os"
	"regexp"
	"strings"

	"tallyman/internal/config"
	"tallyman/internal/session"
)

// unfit is what a host name may have and a node's name may not.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// longestName is that of a node's name.
const longestName = 64

// hostName is the name of a node that has none in the configuration. It is the same after a restart.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return nameOf("")
	}
	return nameOf(host)
}

// nameOf makes the name of a host one of a node.
func nameOf(host string) string {
	name := strings.TrimLeft(unfit.ReplaceAllString(host, "-"), "_.-")
	return cmp.Or(name[:min(len(name), longestName)], "node")
}

// newSession makes what keeps the node's session. Nobody else has the file of an SQLite.
func (a *App) newSession() *session.Keeper {
	return session.New(session.Options{
		Ledger: a.ledger, Node: a.opts.Node, Version: a.opts.Version, Lease: cmp.Or(a.opts.Lease, a.cfg.Node.Lease),
		Alone: a.cfg.Ledger.Driver == config.SQLite, Observe: a.meter.SessionEvent, Logger: a.log,
	})
}
