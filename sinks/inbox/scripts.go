package inbox

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/recovery"
)

var (
	//go:embed scripts/common.lua
	commonLua string
	//go:embed scripts/cap.lua
	capLua string
	//go:embed scripts/open.lua
	openLua string
	//go:embed scripts/add.lua
	addLua string
	//go:embed scripts/close.lua
	closeLua string
	//go:embed scripts/undo.lua
	undoLua string
	//go:embed scripts/count.lua
	countLua string
	//go:embed scripts/unread.lua
	unreadLua string
	//go:embed scripts/read.lua
	readLua string
	//go:embed scripts/mark.lua
	markLua string
	//go:embed scripts/readall.lua
	readAllLua string
	//go:embed scripts/popups.lua
	popupsLua string
	//go:embed scripts/trim.lua
	trimLua string
	//go:embed scripts/fanout.lua
	fanoutLua string
	//go:embed scripts/poll.lua
	pollLua string
	//go:embed scripts/begin.lua
	beginLua string
	//go:embed scripts/wipe.lua
	wipeLua string
	//go:embed scripts/due.lua
	dueLua string
	//go:embed scripts/sweep.lua
	sweepLua string
)

type scripts struct {
	fanout, open, add, close, undo               *redis.Script
	poll, unread, popups                         *redis.Script
	begin, wipe, due, sweep, mark, readAll, trim *redis.Script
}

func newScripts() scripts {
	common := func(texts ...string) *redis.Script { return redis.NewScript(commonLua + strings.Join(texts, "")) }
	return scripts{
		fanout: common(capLua, fanoutLua), open: common(openLua), add: common(capLua, addLua), close: common(closeLua), undo: redis.NewScript(undoLua),
		poll: common(readLua, countLua, pollLua), unread: common(readLua, countLua, unreadLua), popups: common(readLua, popupsLua),
		begin: common(beginLua), wipe: redis.NewScript(wipeLua), due: common(dueLua), sweep: redis.NewScript(sweepLua),
		mark: common(markLua), readAll: common(readLua, readAllLua), trim: common(readLua, trimLua),
	}
}

// errDue says that more notices have expired than a script may look through.
var errDue = errors.New("inbox: too many notices have expired; they must be swept first")

// errLate says that a wide delivery is not open any more, because another node works in the lane.
var errLate = errors.New("inbox: another node has undone this delivery; it is tried again")

// openError says that another wide delivery is open. The open delivery must be undone first.
type openError struct{ open string }

func (e *openError) Error() string { return "inbox: the delivery of a wide notice is open: " + e.open }

// aheadError says that a reader's score is ahead of the clock.
type aheadError struct{ clock int64 }

func (e *aheadError) Error() string {
	return "the clock is at " + formatScore(e.clock) + ", behind a reader's cursor"
}

// run calls a script that answers with texts and numbers.
func (in *index) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := s.Run(ctx, in.o.Client, keys, args...).Slice()
	return reply, known(err)
}

// look calls a script for a reader. If the script refuses because too many notices have expired, look sweeps them
// first.
func (in poller) look(ctx context.Context, g *recovery.Generation, r *reader, s *redis.Script, keys []string, args ...any) ([]any, error) {
	for {
		reply, err := in.run(ctx, s, keys, args...)
		if !errors.Is(err, errDue) {
			return reply, err
		}
		if err := in.sweeper.sweepOne(ctx, g.Epoch, r.Warehouse); err != nil {
			return nil, err
		}
	}
}

// runCount calls a script that answers with a number.
func (in *index) runCount(ctx context.Context, s *redis.Script, keys []string, args ...any) (int64, error) {
	n, err := s.Run(ctx, in.o.Client, keys, args...).Int64()
	return n, known(err)
}

// known turns the error replies of our own scripts into typed errors.
func known(err error) error {
	if err == nil {
		return nil
	}
	if strings.HasPrefix(err.Error(), "DUE ") {
		return errDue
	}
	if strings.HasPrefix(err.Error(), "LATE") {
		return errLate
	}
	if open, ok := strings.CutPrefix(err.Error(), "OPEN "); ok {
		return &openError{open}
	}
	if text, ok := strings.CutPrefix(err.Error(), "CLOCK "); ok {
		if clock, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &aheadError{clock}
		}
	}
	return recovery.Known(err)
}

// texts turns a script's reply into strings.
func texts(reply []any) ([]string, error) {
	out := make([]string, len(reply))
	for i, v := range reply {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("inbox: a script answered a %T instead of a text", v)
		}
		out[i] = s
	}
	return out, nil
}
