package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"regexp"

	"tallyman/engine"
)

// unfit is what a host name may have and a node's name may not.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "dev")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = engine.SystemClock{}
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Node == "" {
		o.Node = nodeName()
	}
	return o
}

// nodeName is unique among the running processes of a cluster, as far as host names are.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "node"
	}
	host = unfit.ReplaceAllString(host, "-")
	if len(host) > 40 {
		host = host[:40]
	}
	return fmt.Sprintf("n-%s-%d", host, os.Getpid())
}
