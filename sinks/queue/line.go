package queue

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/index"
)

// line is a queue as its scripts see it: the queue itself, or its twin. It knows nothing of epochs coming and going; what it is
// asked, it is asked for an epoch, and an index.EpochError says that Redis is at another.
type line struct {
	o       *Options
	name    string // in the ledger
	test    bool
	keys    keys
	all     []string // of keys.all
	scripts *scripts
}

func newLine(o *Options, test bool) (*line, error) {
	k, err := newKeys(o.Prefix, o.Name, test)
	if err != nil {
		return nil, err
	}
	l := &line{o: o, name: o.Name, test: test, keys: k, all: k.all(0), scripts: newScripts()}
	if test {
		l.name += ":test"
	}
	return l, nil
}

// hint is what is published on keys.hints when something became ready: which of the two it was.
func (l *line) hint() string {
	if l.test {
		return "test"
	}
	return ""
}

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

// run calls a script that answers with a list.
func (l *line) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := s.Run(ctx, l.o.Client, keys, args...).Slice()
	return reply, known(err)
}

// known gives the errors of our own scripts their types.
func known(err error) error {
	if err != nil && err.Error() == errBacklog.Error() {
		return errBacklog
	}
	return index.Known(err)
}
