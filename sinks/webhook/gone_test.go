package webhook_test

import (
	"errors"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/sinks"
)

// The status of another service's call says that the resource is gone, unless the code says something else. An answer
// of the server that gives tokens is never about the notice.
func TestGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token, call testenv.HTTPReply
		want        bool
	}{
		"by its status":       {testenv.ReplyStatus(200, `{"token":"t"}`), testenv.ReplyStatus(410, ""), true},
		"with a code":         {testenv.ReplyStatus(200, `{"token":"t"}`), testenv.ReplyStatus(410, `{"code":9}`), true},
		"and refused":         {testenv.ReplyStatus(200, `{"token":"t"}`), testenv.ReplyStatus(410, `{"code":7}`), false},
		"with another status": {testenv.ReplyStatus(200, `{"token":"t"}`), testenv.ReplyStatus(200, `{"code":9}`), false},
		"the token":           {testenv.ReplyStatus(410, ""), testenv.ReplyStatus(200, `{"code":0}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testenv.NewHTTPServer(t)
			server.Next(c.token)
			server.Next(c.call)
			w := opened(t, `
sinks:
  gateway:
    type: webhook
    url: "`+server.URL+`"
    allow_private: true
    request: {json: {title: "{{ .Title }}"}}
    answer: {code: code, ok: 0, refused: [7]}
    token: {url: "`+server.URL+`/token", value: token, life: 1h}
`, "gateway")
			err := w.Push(t.Context(), one(1))
			if _, ok := errors.AsType[*sinks.GoneError](err); err == nil || ok != c.want {
				t.Errorf("gone: %v, %v", ok, err)
			}
		})
	}
}
