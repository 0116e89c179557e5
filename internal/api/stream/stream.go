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
	readTimeout  = 10 * time.Second // Time for a client to read the parts of one send.
	farewellTime = time.Second      // Time for a client to read the event end.
	maxBacklog   = 256 << 10        // Bytes that may wait for a client before more parts are added.
)

// Source supplies the events of a stream.
type Source interface {
	Drop()    // Removes a live stream from the source. Called once, and only if Settle made the stream live.
	Release() // Ends the stream's membership in the source. Called with Hub.mu held.
}

// Stream is the stream of one client. An idle Stream has no goroutine that writes; a push starts one.
type Stream struct {
	hub    *Hub
	source Source
	grant  *grant // nil = the caller's identity cannot end.
	line   line
	holder string
	beat   uint8         // The beat of the stream's heartbeats.
	done   chan struct{} // Closed after the line was closed.

	mu      sync.Mutex
	queue   [][]byte
	queued  int  // Bytes in the queue.
	writing bool // A goroutine sends, or will send when the stream has caught up. No other goroutine may send.
	live    bool // The source pushes events to the stream.
	cut     bool // The client missed an event or has only a part of one, so no event may follow.
	ended   bool
}

// Serve begins an admitted stream. Serve calls follow, which must push all events up to the present. With HTTP/2 Serve
// returns at the end of the stream, and with HTTP/1 when follow has returned.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request, follow func(ctx context.Context)) {
	SetHeader(w.Header())
	l, hold, err := openLine(w, r, func() { s.End(Gone) })
	if err != nil {
		return // The client has disconnected.
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

// Push queues parts for the client. The parts of one call are sent together.
func (s *Stream) Push(parts ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(parts...)
}

// Flush sends the queue now. Only the goroutine that runs follow may call Flush, because that goroutine owns the right
// to send.
func (s *Stream) Flush() {
	s.mu.Lock()
	parts, within := s.take()
	s.mu.Unlock()
	if parts != nil {
		s.send(parts, within)
	}
}

// add queues parts of any length, and starts a goroutine to send them if none is active. If too much waits for the
// client already, add ends the stream. The caller holds mu.
func (s *Stream) add(parts ...[]byte) {
	if s.ended || s.cut || len(parts) == 0 {
		return
	}
	if s.queued > maxBacklog {
		s.cut = true
		go s.End(Slow) // In a goroutine, because End takes locks that the caller may hold.
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

// write sends the queue until it is empty, and closes the line if the stream has ended.
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

// next empties the queue and returns its parts. With an empty queue, next gives up the right to send, unless the stream
// has ended: then the caller must close the line.
func (s *Stream) next() (parts net.Buffers, within time.Duration, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if parts, within = s.take(); parts == nil {
		s.writing = s.ended
	}
	return parts, within, s.ended
}

// take empties the queue and returns its parts. The caller holds mu.
func (s *Stream) take() (parts net.Buffers, within time.Duration) {
	parts, within = s.queue, readTimeout
	s.queue, s.queued = nil, 0
	if s.ended {
		within = farewellTime
	}
	return parts, within
}

// send writes to the line. If the client does not read everything, the stream ends without the event end.
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

// End ends the stream and drops its queue. Only the first call has an effect. The client gets the event end with the
// reason, unless it already has a part of another event: then the client would read both as one event, with the id of
// the first.
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

// Settle makes the stream live, unless it has ended in the meantime. Settle returns whether the stream is live.
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

// begin connects the stream to its client and queues the greeting.
func (s *Stream) begin(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = l
	s.add(greeting())
}

// Abandon ends an admitted stream that never began, because the request got another answer. After Serve has begun the
// stream, Abandon does nothing.
func (s *Stream) Abandon() {
	s.mu.Lock()
	began := s.line != nil
	s.mu.Unlock()
	if !began {
		s.End(Failed)
		close(s.done)
	}
}

// SetHeader sets the headers of a stream. The headers forbid caches to store the answer, and proxies to buffer it.
func SetHeader(h http.Header) {
	h["Content-Type"] = []string{string(api.MediaEvents)}
	h["Cache-Control"] = []string{"no-cache, no-store, no-transform, private"}
	h["X-Accel-Buffering"] = []string{"no"}
	h["Vary"] = append(slices.Clip(h["Vary"]), api.Vary...)
}

// WriteEvent writes one event. Without an id the client keeps the id of the event before.
func WriteEvent(b *bytes.Buffer, name, id string, data any) {
	if id != "" {
		b.WriteString("id: ")
		b.WriteString(id)
		b.WriteByte('\n')
	}
	b.WriteString("event: ")
	b.WriteString(name)
	b.WriteString("\ndata: ")
	if err := api.AppendJSON(b, data); err != nil { // Forms always encode. Their JSON has a line break only at the end.
		panic(err)
	}
	b.WriteByte('\n')
}

// The bounds of the pause before a client reconnects, in ms. The pause is random for each stream, so that the clients
// of a stopped node do not all come to the next node at once.
const (
	minRetry = 1000
	maxRetry = 5000
)

// greeting returns the beginning of a stream: the pause before the client reconnects.
func greeting() []byte {
	return append(strconv.AppendInt([]byte("retry: "), retryTime(), 10), "\n\n"...)
}

func retryTime() int64 { return minRetry + rand.Int64N(maxRetry-minRetry) } //nolint:gosec // Not a secret.

// farewell returns the event end, or nil if no client will read it.
func farewell(reason string) []byte {
	if reason == Gone || reason == Slow {
		return nil
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(greeting(), []byte("\n")))
	WriteEvent(b, "end", "", wire.EndForm{Reason: reason})
	return b.Bytes()
}
