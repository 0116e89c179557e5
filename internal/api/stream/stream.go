package stream

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/wire"
)

// The bounds of one stream.
const (
	readTimeout  = 10 * time.Second // how long a client may take to read what is sent to it at once
	farewellTime = time.Second      // or that the stream ends
	maxBacklog   = 256 << 10        // bytes that may wait for a client while a page is added
)

// Source is where a stream has its events from.
type Source interface {
	Drop()    // takes the stream out of those that are live
	Release() // ends its part in the source; the lock of the streams is held
}

// Stream is one client's. While it is idle it has no goroutine that writes; whoever has something for it starts one.
type Stream struct {
	hub    *Hub
	source Source
	grant  *grant // nil = it cannot end
	line   line
	holder string
	beat   uint8         // at which its heartbeats are due
	done   chan struct{} // closed when the line is

	mu      sync.Mutex
	queue   [][]byte
	queued  int  // bytes in it
	writing bool // somebody sends, or will when the stream has caught up; nobody else may
	live    bool // its source has things for it
	cut     bool // the client missed something, or has half of it: nothing may follow
	ended   bool
}

// Serve begins a stream that was admitted, and has follow bring it to the present.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request, follow func(ctx context.Context)) {
	SetHeader(w.Header())
	l, hold, err := openLine(w, r, func() { s.End(Gone) })
	if err != nil {
		return // the client has gone
	}
	s.hub.log.LogAttrs(r.Context(), slog.LevelDebug, "Stream begins.", api.RequestAttrs(w, r)...)
	s.begin(l)
	follow(r.Context())
	s.write()
	if hold {
		select {
		case <-s.done:
		case <-r.Context().Done():
			s.End(Gone)
			<-s.done
		}
	}
}

// Push queues parts, which the client gets together.
func (s *Stream) Push(parts ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(parts...)
}

// Flush sends what is queued at once. Only who brings a stream to the present may call it, and stays the one who writes.
func (s *Stream) Flush() {
	s.mu.Lock()
	parts, within := s.take()
	s.mu.Unlock()
	if parts != nil {
		s.send(parts, within)
	}
}

// add queues parts, however long they are, and sees that somebody sends them. A client for which too much waits already is cut
// off. The caller holds the lock.
func (s *Stream) add(parts ...[]byte) {
	if s.ended || s.cut || len(parts) == 0 {
		return
	}
	if s.queued > maxBacklog {
		s.cut = true
		go s.End(Slow) // it takes locks that the caller may hold
		return
	}
	s.queue = append(s.queue, parts...)
	for _, part := range parts {
		s.queued += len(part)
	}
	if !s.writing {
		s.writing = true
		go s.write()
	}
}

// write sends what is queued until there is nothing more, and hangs up if the stream has ended.
func (s *Stream) write() {
	for {
		parts, within, over := s.next()
		if parts == nil {
			if over {
				s.line.close()
				close(s.done)
			}
			return
		}
		s.send(parts, within)
	}
}

// next takes the queue. With nothing in it, nobody writes any more until there is.
func (s *Stream) next() (parts net.Buffers, within time.Duration, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if parts, within = s.take(); parts == nil {
		s.writing = s.ended
	}
	return parts, within, s.ended
}

// take empties the queue. The caller holds the lock.
func (s *Stream) take() (parts net.Buffers, within time.Duration) {
	parts, within = s.queue, readTimeout
	s.queue, s.queued = nil, 0
	if s.ended {
		within = farewellTime
	}
	return parts, within
}

// send writes to the line. A stream whose client does not take all of it ends without a word.
func (s *Stream) send(parts net.Buffers, within time.Duration) {
	err := s.line.send(parts, within)
	if err == nil {
		return
	}
	s.mu.Lock()
	s.cut, s.queue, s.queued = true, nil, 0
	s.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.End(Slow)
	} else {
		s.End(Gone)
	}
}

// End ends the stream: the client is told why, where it can be. Behind half an event it is not: for the client both would be one event,
// with the id of the half. What waited for it is dropped. Only the first end counts.
func (s *Stream) End(reason string) {
	word := farewell(reason)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	live, write := s.live, !s.writing
	s.writing = true
	s.queue, s.queued = nil, 0
	left := time.Duration(0)
	if word != nil && !s.cut {
		s.queue, left = [][]byte{word}, farewellTime
	}
	if s.line != nil {
		s.line.hurry(left)
	}
	s.mu.Unlock()
	if live {
		s.source.Drop()
	}
	s.hub.leave(s)
	s.hub.meter.StreamEnded(reason)
	if write {
		go s.write()
	}
}

// Settle makes the stream live, unless it has ended meanwhile.
func (s *Stream) Settle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = s.live || !s.ended
	return !s.ended
}

// Over tells whether the stream has ended.
func (s *Stream) Over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// begin connects the stream with its client.
func (s *Stream) begin(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = l
	s.add(greeting())
}

// Abandon ends a stream that never began: the request was answered otherwise.
func (s *Stream) Abandon() {
	s.mu.Lock()
	began := s.line != nil
	s.mu.Unlock()
	if !began {
		s.End(Failed)
		close(s.done)
	}
}

// SetHeader sets what a stream's answer has: no cache may keep it and no proxy hold it back.
func SetHeader(h http.Header) {
	h["Content-Type"] = []string{string(api.MediaEvents)}
	h["Cache-Control"] = []string{"no-cache, no-store, no-transform, private"}
	h["X-Accel-Buffering"] = []string{"no"}
	h["Vary"] = append(slices.Clip(h["Vary"]), api.Vary...)
}

// WriteEvent writes one event; without an id the client keeps the one that it has.
func WriteEvent(b *bytes.Buffer, name, id string, data any) {
	if id != "" {
		b.WriteString("id: ")
		b.WriteString(id)
		b.WriteByte('\n')
	}
	b.WriteString("event: ")
	b.WriteString(name)
	b.WriteString("\ndata: ")
	if err := api.AppendJSON(b, data); err != nil { // our own forms always encode; there is no line break but the one at the end
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
	if reason == Gone || reason == Slow {
		return nil
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(greeting(), []byte("\n")))
	WriteEvent(b, "end", "", wire.EndForm{Reason: reason})
	return b.Bytes()
}
