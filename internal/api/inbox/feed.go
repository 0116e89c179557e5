package inbox

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"tallyman/internal/api/stream"
	"tallyman/sinks/inbox/page"
)

// feeds are those of the open streams of notices.
type feeds struct {
	hub   *stream.Hub
	inbox Inbox
	log   *slog.Logger
	polls chan struct{} // a place for each poll under way, so that thousands of streams do not ask at a time

	mu  sync.Mutex
	all map[string]*feed // by what they ask
}

const (
	pollsAtOnce = 32
	retryEvery  = time.Second // where the inbox is out of reach
)

func newFeeds(hub *stream.Hub, inbox Inbox, log *slog.Logger) *feeds {
	return &feeds{hub: hub, inbox: inbox, log: log, polls: make(chan struct{}, pollsAtOnce), all: map[string]*feed{}}
}

// of returns the feed of a query, which the caller joins.
func (fs *feeds) of(q *page.Query) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	key := strings.Join([]string{q.Warehouse, strings.Join(q.Subscribers, "\n"), strings.Join(q.Types, "\n")}, "\n\n")
	f := fs.all[key]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &feed{all: fs, key: key}
		f.begin = func() { go f.run(ctx) }
		fs.all[key] = f
		unwatch := fs.inbox.Watch(q.Warehouse, q.Subscribers, f.wake)
		f.stop = func() {
			unwatch()
			cancel()
		}
	}
	f.members++
	return f
}

// release is the end of one stream's part in a feed.
func (fs *feeds) release(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.members--
	if f.members == 0 {
		delete(fs.all, f.key)
		f.stop()
	}
}

// poll asks the inbox when its turn has come.
func (fs *feeds) poll(ctx context.Context, q page.Query) (page.Page, error) {
	select {
	case fs.polls <- struct{}{}:
	case <-ctx.Done():
		return page.Page{}, ctx.Err()
	}
	defer func() { <-fs.polls }()
	return fs.inbox.Poll(ctx, q)
}

// live is the number of streams that have caught up.
func (fs *feeds) live() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	n := 0
	for _, f := range fs.all {
		f.mu.Lock()
		n += len(f.live)
		f.mu.Unlock()
	}
	return n
}

// feed polls for all streams that ask the same. They are all at one place: what a poll brings is the next for each of them.
type feed struct {
	all     *feeds
	key     string
	members int    // streams that ask this; guarded by the lock of all
	stop    func() // ends the watch, and the poll that is under way
	begin   func() // polls in the background

	turn  sync.Mutex // held by who polls
	place page.Query // with the cursor that the streams are at; guarded by turn

	mu       sync.Mutex
	live     []*noticeStream // that have caught up
	dirty    bool            // something may be new
	running  bool
	retrying bool // a poll has failed, and the next is to come by itself
}

// wake has the feed polled soon.
func (f *feed) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = true
	f.start()
}

// start polls in the background if there is a reason; the caller holds the lock.
func (f *feed) start() {
	if f.dirty && !f.running && len(f.live) > 0 {
		f.running = true
		f.begin()
	}
}

// run polls until nothing is new.
func (f *feed) run(ctx context.Context) {
	f.turn.Lock()
	defer f.turn.Unlock()
	for f.again() {
		if err := f.advance(ctx); err != nil {
			f.all.log.LogAttrs(ctx, slog.LevelDebug, "Poll for streams failed. The node tries again.", slog.Any("error", err))
			f.retry()
		}
	}
}

func (f *feed) again() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = f.dirty && len(f.live) > 0
	f.dirty = false
	return f.running
}

// retry has the feed polled again soon.
func (f *feed) retry() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.retrying {
		return
	}
	f.retrying = true
	time.AfterFunc(retryEvery, func() {
		f.mu.Lock()
		f.retrying = false
		f.mu.Unlock()
		f.wake()
	})
}

// advance brings the streams to the present. The caller has the turn.
func (f *feed) advance(ctx context.Context) error {
	for {
		pg, err := f.all.poll(ctx, f.place)
		if err != nil {
			return err
		}
		if err := f.hand(&pg); err != nil {
			return err
		}
		f.place.After, f.place.Since = pg.Cursor, 0
		if !pg.More {
			return nil
		}
	}
}

// hand gives a page to every stream. Streams in one language share its bytes.
func (f *feed) hand(pg *page.Page) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	byLanguage := map[string]*leaflet{}
	for _, s := range f.live {
		l := byLanguage[s.language]
		if l == nil {
			var err error
			if l, err = newLeaflet(pg, s.langs); err != nil {
				return err
			}
			byLanguage[s.language] = l
		}
		s.take(l)
	}
	return nil
}

// join takes in a stream that has caught up. Whoever is there already is brought to the same place first, and what came up
// meanwhile goes to all of them.
func (f *feed) join(ctx context.Context, s *noticeStream) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	for {
		if f.add(s) {
			return nil
		}
		if err := f.advance(ctx); err != nil {
			return err
		}
		known, err := page.DecodeCursor(f.place.After)
		if err != nil {
			return err
		}
		alike, err := s.follow(ctx, known)
		if err != nil {
			return err
		}
		if alike { // nothing came up since, so this is one place, whatever the clock says
			f.place = s.place
		}
	}
}

// add makes the stream live if it is where the feed is, or the first.
func (f *feed) add(s *noticeStream) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.live) == 0 {
		f.place = s.place
	}
	if f.place.After != s.place.After {
		return false
	}
	s.at, s.place = len(f.live), page.Query{}
	if s.Settle() {
		f.live = append(f.live, s)
		f.start()
	}
	return true
}

// remove takes a stream out that was live.
func (f *feed) remove(s *noticeStream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.live) - 1
	moved := f.live[last]
	f.live[s.at], moved.at = moved, s.at
	f.live[last] = nil
	f.live = f.live[:last]
}
