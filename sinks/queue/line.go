package queue

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// line is a queue as its scripts see it: the queue itself, or its twin. It knows nothing of epochs coming and going; what it is
// asked, it is asked for an epoch, and an recovery.EpochError says that Redis is at another.
type line struct {
	o       *Options
	name    string // in the ledger
	test    bool
	keys    keys
	all     []string // of keys.all
	scripts *scripts
	log     *slog.Logger
	waiters waiters // calls of this process that wait for items

	suspendSteps string // as step.lua reads them
	life         string // tells the calls of this process from those of another under the same name
	calls        atomic.Int64
	steps        *combiner[*request]
	commits      *combiner[*pushed]
	enqueues     *combiner[*enqueued]
	trouble      atomic.Pointer[error] // that calls of scripts meet; nil = the last one went well
}

func newLine(o *Options, test bool) (*line, error) {
	k, err := newKeys(o.Prefix, o.Name, test)
	if err != nil {
		return nil, err
	}
	l := &line{
		o: o, name: o.Name, test: test, keys: k, all: k.all(0), scripts: newScripts(), log: o.Logger.With("queue", o.Name),
		suspendSteps: suspendSteps(o.SuspendSteps), life: rand.Text(),
	}
	if test {
		l.name += ":test"
		l.log = o.Logger.With("queue", l.name)
	}
	l.steps, l.commits, l.enqueues = l.newSteps(), l.newCommits(), l.newEnqueues()
	return l, nil
}

// nextCall names a call of a script.
func (l *line) nextCall() string { return l.life + "/" + strconv.FormatInt(l.calls.Add(1), 10) }

// hint is what is published on keys.hints, alone when something will soon be due. The name of a warehouse behind it, and a space between
// them, say where something became ready, * = in many; the name of a worker or subject behind that says that it alone gets that. (An
// empty message says that an epoch has begun.)
func (l *line) hint() string { return "ready" }

// node is the scripts' argument: who writes the outbox; without a ledger nobody does.
func (l *line) node() string {
	if l.o.Ledger == nil {
		return ""
	}
	return l.o.Node
}

// now is the scripts' argument: 0 is the server's own clock.
func (l *line) now() string {
	if l.o.Now == nil {
		return "0"
	}
	return strconv.FormatInt(l.o.Now().UnixMicro(), 10)
}

// time is that of the scripts, for what Go compares with it.
func (l *line) time() time.Time {
	if l.o.Now == nil {
		return time.Now()
	}
	return l.o.Now()
}

// run calls a script that answers with a list.
func (l *line) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := s.Run(ctx, l.o.Client, keys, args...).Slice()
	return reply, known(err)
}
