package tallyman

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"tallyman/clients/go/api"
)

// Notice is a notice as an inbox has it.
type Notice = api.Notice

// Change tells that the user has read or acked a notice, perhaps in another window.
type Change = api.NoticeChange

// Inbox is the inboxes of some subscribers in one warehouse, which a program follows.
type Inbox struct {
	Client      *Client
	Store       Store    // keeps the place. [NewFileStore] makes one
	Warehouse   string   // may be empty where the token has one warehouse
	Subscribers []string // such as user:1 and role:keeper. Defaults to those of the token
	Types       []string // only notices of these types. Defaults to all
	Language    string   // of titles and bodies, as Accept-Language has it

	// OnReset hears that the cursor did not hold any more, before the notices of the last three days come again. Those that were handled are left out. Defaults
	// to a warning in the log. An error ends Follow.
	OnReset func(ctx context.Context, r Reset) error
	// OnChange hears what became of notices that came before. An error ends Follow.
	OnChange func(ctx context.Context, c Change) error
	Logger   *slog.Logger // of tries that failed. Defaults to slog.Default
}

// Reset says why a cursor does not hold any more.
type Reset struct {
	Reason string // such as index_rebuilt; docs/reference/api.md lists them. bad_cursor: the service does not know the cursor of the store
	Missed *int64 // how many notices were delivered after the cursor and will not come any more; nil = nobody knows
}

// Follow hands each notice to the handler, one after the other, until ctx ends. It saves the cursor after the handler has returned without an error. So
// only a process that is killed between the two gets a notice again.
//
// Failed polls are tried again, with pauses that grow or that the service asks for. Follow returns nil when ctx has ended. Otherwise it returns what it cannot
// get past: a refusal of the service (a [ProblemError]), or an error of the handler or of the store. A later Follow goes on with the same notice.
func (in *Inbox) Follow(ctx context.Context, handle func(ctx context.Context, n Notice) error) error {
	if in.Store == nil {
		return errors.New("the inbox has no Store, so its place would be lost; NewFileStore makes one")
	}
	place, err := in.Store.Load(ctx)
	if err != nil {
		return err
	}
	f := &follower{Inbox: in, handle: handle, cursor: place.Cursor, handled: newMemory(place.Handled)}
	for ctx.Err() == nil {
		if err := f.turn(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil
			}
			return err
		}
	}
	return nil
}

// follower is one run of Follow.
type follower struct {
	*Inbox

	handle  func(context.Context, Notice) error
	cursor  string
	etag    *string // of the page that gave the cursor
	handled *memory
}

// turn polls once and deals with the page.
func (f *follower) turn(ctx context.Context) error {
	var page *api.Notices
	err := insist(ctx, f.warn, func(ctx context.Context) (err error) {
		page, err = f.poll(ctx)
		return err
	})
	var problem *ProblemError
	switch {
	case errors.As(err, &problem) && problem.Code == "bad_cursor" && f.cursor != "":
		f.cursor, f.etag = "", nil
		return f.reset(ctx, Reset{Reason: problem.Code})
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil || page == nil:
		return err
	}
	return f.take(ctx, page)
}

// poll asks once. The page is nil where nothing is new.
func (f *follower) poll(ctx context.Context) (*api.Notices, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerWithin)
	defer cancel()
	params := &api.PollNoticesParams{Wait: seconds(wait), IfNoneMatch: f.etag}
	params.Warehouse, params.After, params.AcceptLanguage = optional(f.Warehouse), optional(f.cursor), optional(f.Language)
	if len(f.Subscribers) > 0 {
		params.Subscriber = &f.Subscribers
	}
	if len(f.Types) > 0 {
		params.Type = &f.Types
	}
	resp, err := f.Client.API.PollNotices(ctx, params)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified {
		return nil, resp.Body.Close()
	}
	var page api.Notices
	if err := read(resp, &page); err != nil {
		return nil, err
	}
	f.etag = optional(resp.Header.Get("ETag"))
	return &page, nil
}

// take deals with a page. The cursor is saved with its last notice.
func (f *follower) take(ctx context.Context, page *api.Notices) error {
	if page.Reset {
		r := Reset{Missed: page.Missed}
		if page.ResetReason != nil {
			r.Reason = string(*page.ResetReason)
		}
		if err := f.reset(ctx, r); err != nil {
			return err
		}
	}
	for _, c := range page.Changes {
		if f.OnChange == nil {
			break
		}
		if err := f.OnChange(ctx, c); err != nil {
			return err
		}
	}
	fresh := f.handled.without(page.Notices)
	for i, n := range fresh {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.handle(ctx, n); err != nil {
			return err
		}
		if i == len(fresh)-1 {
			f.cursor = page.Cursor
		}
		if err := f.save(ctx, n.Id); err != nil {
			return err
		}
	}
	if f.cursor == page.Cursor {
		return nil
	}
	f.cursor = page.Cursor
	return f.save(ctx, "")
}

// save keeps what was handled even where ctx has ended meanwhile.
func (f *follower) save(ctx context.Context, handled string) error {
	now := time.Now()
	if handled != "" {
		f.handled.add(handled, now)
	}
	return f.Store.Save(context.WithoutCancel(ctx), Step{Cursor: f.cursor, Handled: handled, At: now})
}

func (f *follower) reset(ctx context.Context, r Reset) error {
	if f.OnReset != nil {
		return f.OnReset(ctx, r)
	}
	var missed any = "unknown"
	if r.Missed != nil {
		missed = *r.Missed
	}
	f.logger().Warn("the cursor did not hold any more; the notices of the last three days come again, without those that were handled", "reason", r.Reason, "missed", missed)
	return nil
}

func (f *follower) warn(err error, pause time.Duration) {
	f.logger().Warn("a poll failed; the cursor stays, and nothing is lost", "error", err, "next_try_in", pause)
}

func (in *Inbox) logger() *slog.Logger {
	if in.Logger != nil {
		return in.Logger
	}
	return slog.Default()
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// memory is the notices that were handled, for as long as Remember.
type memory struct {
	at     map[string]time.Time
	pruned time.Time
}

func newMemory(ids []string) *memory {
	m := &memory{at: map[string]time.Time{}, pruned: time.Now()}
	for _, id := range ids {
		m.at[id] = m.pruned
	}
	return m
}

func (m *memory) add(id string, now time.Time) {
	m.at[id] = now
	if now.Sub(m.pruned) < time.Hour {
		return
	}
	m.pruned = now
	for id, at := range m.at {
		if now.Sub(at) > Remember {
			delete(m.at, id)
		}
	}
}

// without are the notices that were not handled yet.
func (m *memory) without(list []Notice) []Notice {
	var fresh []Notice
	for _, n := range list {
		if _, known := m.at[n.Id]; !known {
			fresh = append(fresh, n)
		}
	}
	return fresh
}
