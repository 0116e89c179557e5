package send

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// maxKey is the longest Idempotency-Key.
const maxKey = 255

// newSending reads who sends, and under which key. A request without a key is none that could be repeated.
func (a *Handlers) newSending(ctx context.Context, in *sendInput) (*sending, *wire.Problem) {
	who := auth.From(ctx)
	for i := range in.Body.Notices {
		if prob := api.InWarehouse(who, in.Body.Notices[i].Warehouse); prob != nil && api.IsName(in.Body.Notices[i].Warehouse) {
			prob.Errors = []wire.Fault{{Location: "body.notices[" + strconv.Itoa(i) + "].warehouse", Message: prob.Detail}}
			return nil, prob
		}
	}
	s := &sending{who: who, key: in.Key, targets: a.deps.Sends.Targets, now: time.Now()}
	if a.deps.Sends.Now != nil {
		s.now = a.deps.Sends.Now()
	}
	s.now = s.now.UTC().Truncate(time.Microsecond)
	switch {
	case s.key == "":
		s.key = rand.Text()
	case len(s.key) > maxKey || strings.ContainsFunc(s.key, func(r rune) bool { return r < ' ' || r > '~' }):
		return nil, wire.NewProblem(http.StatusBadRequest, wire.CodeBadIdempotencyKey, "an Idempotency-Key has at most 255 printable ASCII characters")
	}
	var err error
	if s.episode, err = s.digest(&in.Body); err != nil {
		return nil, api.InternalProblem()
	}
	return s, nil
}

// digest names the request and all that it says. Notices carry it as their episode, so that a repetition of their request is told
// from another one under the same key.
func (s *sending) digest(form *wire.SendForm) (string, error) {
	content, err := json.Marshal(form) // members in one order, numbers as they were written
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, part := range []string{s.who.Subject, s.key, string(content)} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return `"s_` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16]) + `"`, nil
}
