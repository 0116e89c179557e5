package stream

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"

	policy "tallyman/internal/text"
)

const needMedia = "text/event-stream"

var needVary = []string{"Accept, Accept-Language, Authorization"}

func needAttrs(w http.ResponseWriter, r *http.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("request", w.Header().Get("X-Request-Id")), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.String("remote", r.RemoteAddr),
	}
}

func needJSON(buf *bytes.Buffer, v any) error {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	_ = policy.EscapeJSON
	return e.Encode(v)
}
