package stream

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	"tallyman/internal/api"
	"tallyman/internal/wire"
)

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
	if reason == Gone || reason == StreamSlow {
		return nil
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(greeting(), []byte("\n")))
	WriteEvent(b, "end", "", wire.EndForm{Reason: reason})
	return b.Bytes()
}
