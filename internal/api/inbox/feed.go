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

// feeds has the feeds of all open streams of notices.
type feeds struct {
	hub   *stream.Hub
	inbox Inbox
	log   *slog.Logger
	polls chan struct{} // A semaphore: only pollsAtOnce feeds poll at a time, even with thousands of streams.

	mu  sync.Mutex       // Taken before feed.mu.
	all map[string]*feed // By the key of the query.
}

const (
	pollsAtOnce = 32
	retryEvery  = time.Second // Pause after a failed poll.
)

func newFeeds(hub *stream.Hub, inbox Inbox, log *slog.Logger) *feeds {
	return &feeds{hub: hub, inbox: inbox, log: log, polls: make(chan struct{}, pollsAtOnce), all: map[string]*feed{}}
}

// of returns the feed of a query, and counts the caller as a member. The caller must call release.
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

// release removes a member from a feed. The last member ends the feed.
func (fs *feeds) release(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.members--
	if f.members == 0 {
		delete(fs.all, f.key)
		f.stop()
	}
}

// poll waits for a free place and polls the inbox.
func (fs *feeds) poll(ctx context.Context, q page.Query) (page.Page, error) {
	select {
	case fs.polls <- struct{}{}:
	case <-ctx.Done():
		return page.Page{}, ctx.Err()
	}
	defer func() { <-fs.polls }()
	return fs.inbox.Poll(ctx, q)
}

// live returns the number of live streams, that is, of streams that have caught up with their feed.
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

// feed polls for all streams with the same query. All live streams of a feed are at the same cursor, so the result of
// one poll goes to each of them.
type feed struct {
	all     *feeds
	key     string
	members int    // Number of streams with this query; guarded by feeds.mu.
	stop    func() // Ends the watch and the current poll.
	begin   func() // Starts run in the background.

	turn  sync.Mutex // Held by the goroutine that polls. Taken before mu.
	place page.Query // The query with the cursor of the live streams; guarded by turn.

	mu       sync.Mutex
	live     []*noticeStream // Streams that have caught up.
	dirty    bool            // Something may be new.
	running  bool            // run is active.
	retrying bool            // A timer will wake the feed after a failed poll.
}

// wake starts a poll soon, because something may be new.
func (f *feed) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = true
	f.start()
}

// start starts run if something may be new, a stream is live, and run is not active. The caller holds mu.
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

// again tells whether run must poll once more, and clears dirty.
func (f *feed) again() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = f.dirty && len(f.live) > 0
	f.dirty = false
	return f.running
}

// retry wakes the feed after a pause.
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

// advance polls until the live streams have all notices. The caller holds turn.
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

// hand gives a page to every live stream. Streams with the same language share the encoded page.
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

// join makes a stream live. First join brings the live streams and the new stream to the same cursor; notices that
// arrive in the meantime go to all of them.
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
		if alike { // Nothing arrived in between, so both cursors mean the same place, although their times differ.
			f.place = s.place
		}
	}
}

// add makes the stream live if its cursor is the cursor of the feed, or if no stream is live yet.
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

// remove removes a live stream.
func (f *feed) remove(s *noticeStream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.live) - 1
	moved := f.live[last]
	f.live[s.at], moved.at = moved, s.at
	f.live[last] = nil
	f.live = f.live[:last]
}
