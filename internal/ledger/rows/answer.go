package rows

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"tallyman/internal/ledger"
)

// Answer is what the record of a firing keeps of its last commit, so that the same commit, repeated because
// its answer was lost, is known and answered again.
type Answer struct {
	Digest       string        `json:"digest"`
	Deliveries   int           `json:"deliveries,omitempty"`
	Unsubscribed int           `json:"unsubscribed,omitempty"`
	Lanes        []ledger.Lane `json:"lanes,omitempty"`
}

// NewAnswer keeps the answer to the commit with that digest.
func NewAnswer(digest string, c ledger.Committed) (string, error) {
	b, err := json.Marshal(Answer{digest, c.Deliveries, c.Unsubscribed, c.Lanes})
	if err != nil {
		return "", fmt.Errorf("encode the answer: %w", err)
	}
	return string(b), nil
}

// Same tells whether the kept answer belongs to the commit with that digest, and returns it.
func Same(kept, digest string) (ledger.Committed, bool, error) {
	var a Answer
	if err := json.Unmarshal([]byte(kept), &a); err != nil {
		return ledger.Committed{}, false, fmt.Errorf("decode the answer: %w", err)
	}
	if a.Digest != digest {
		return ledger.Committed{}, false, nil
	}
	return ledger.Committed{Deliveries: a.Deliveries, Unsubscribed: a.Unsubscribed, Lanes: a.Lanes}, true, nil
}

// digest names the commit: two commits of a claim that write the same have the same digest.
func digest(c ledger.Claim, run *ledger.Commit) string {
	h := sha256.New()
	var buf []byte
	number := func(n int64) { buf = binary.AppendVarint(buf, n) }
	text := func(s string) {
		number(int64(len(s)))
		buf = append(buf, s...)
	}
	number(c.Token)
	number(Micros(c.Due))
	number(Micros(run.Run.Started))
	number(int64(run.Run.Rows))
	if run.Again {
		number(1)
	}
	for _, v := range run.Watermark {
		text(string(v.AppendKey(nil)))
	}
	number(int64(len(run.Findings)))
	for i := range run.Findings {
		number(int64(run.Findings[i].Op))
		text(run.Findings[i].Key)
		if len(buf) > 32<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	number(int64(len(run.Notices)))
	for i := range run.Notices {
		text(run.Notices[i].Notice.ID)
		if len(buf) > 32<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	for _, id := range run.Over {
		text(id)
		if len(buf) > 32<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
