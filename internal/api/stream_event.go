package api

import (
	"bytes"
	"math/rand/v2"
	"strconv"

	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// leaflet is a page as it goes to the streams of one language.
type leaflet struct {
	events []byte
	count  []byte // the event unread
	unread int
	more   bool
}

// newLeaflet writes a page as events: reset, changes, notices, each with the cursor behind it as its id. Changes of one moment
// share an id, which comes with the last.
func newLeaflet(pg *page.Page, langs []string) (*leaflet, error) {
	steps, err := pg.Events()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if pg.Reset {
		start, err := pg.Start()
		if err != nil {
			return nil, err
		}
		writeEvent(&b, "reset", start, newResetForm(pg))
	}
	for _, step := range steps {
		if step.Notice != nil {
			v := *step.Notice
			v.Notice = localize(v.Notice, langs)
			writeEvent(&b, "notice", step.Cursor, v)
		}
		for i, c := range step.Changes {
			id := ""
			if i == len(step.Changes)-1 {
				id = step.Cursor
			}
			writeEvent(&b, "change", id, wire.NoticeChangeForm{ID: c.ID, Kind: c.Kind})
		}
	}
	l := &leaflet{events: b.Bytes(), unread: pg.Unread, more: pg.UnreadMore}
	var count bytes.Buffer
	writeEvent(&count, "unread", pg.Cursor, wire.UnreadForm{Unread: pg.Unread, UnreadMore: pg.UnreadMore})
	l.count = count.Bytes()
	return l, nil
}

// writeEvent writes one event; without an id the client keeps the one that it has.
func writeEvent(b *bytes.Buffer, name, id string, data any) {
	if id != "" {
		b.WriteString("id: ")
		b.WriteString(id)
		b.WriteByte('\n')
	}
	b.WriteString("event: ")
	b.WriteString(name)
	b.WriteString("\ndata: ")
	if err := appendJSON(b, data); err != nil { // our own forms always encode; there is no line break but the one at the end
		panic(err)
	}
	b.WriteByte('\n')
}

// The bounds of when clients come back, ms. It is drawn for each stream, so that those of a node that ends do not come
// to the next one all at once.
const (
	minRetry = 1000
	maxRetry = 5000
)

// greeting begins a stream.
func greeting() []byte {
	return append(strconv.AppendInt([]byte("retry: "), retryTime(), 10), "\n\n"...)
}

func retryTime() int64 { return minRetry + rand.Int64N(maxRetry-minRetry) } //nolint:gosec // it is no secret

// farewell is the last event; nil where there is nobody to read it.
func farewell(reason string) []byte {
	if reason == StreamGone || reason == StreamSlow {
		return nil
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(greeting(), []byte("\n")))
	writeEvent(b, "end", "", wire.EndForm{Reason: reason})
	return b.Bytes()
}
