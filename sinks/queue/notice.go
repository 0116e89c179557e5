package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/internal/text"
)

// newItem makes an item of a notice: as old as that, but not younger than now, since the clock of a warehouse may be ahead of that of
// machines. What a business system sent is about nothing but itself.
func newItem(n *notice.Notice, now time.Time) (item.New, error) {
	if _, err := notice.Marshal(n); err != nil {
		return item.New{}, err
	}
	payload, err := newPayload(n)
	if err != nil {
		return item.New{}, err
	}
	it := item.New{ID: n.ID, Warehouse: n.Warehouse, Priority: n.Priority, Payload: payload, Created: n.CreatedAt}
	if it.Created.After(now) {
		it.Created = now
	}
	if n.Rule != "" {
		it.Subject = subject(n)
		it.DedupeKey = it.Subject
	}
	return it, nil
}

// subject names what a notice is about: its rule, scope and key, so that all notices of a finding are about the same. Digests
// of a rule have one key, but each stands for other findings: its episode tells them apart.
func subject(n *notice.Notice) string {
	about := n.Rule + " " + n.Scope + " " + n.Key
	if notice.IsDigest(n.ID) {
		about += " " + n.Episode
	}
	if len(about) > item.MaxKey {
		sum := sha256.Sum256([]byte(about))
		about = n.Rule + " " + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return about
}

// newPayload is the notice as clients get it. A body that makes it too long is cut: the work is worth more than its words.
func newPayload(n *notice.Notice) (json.RawMessage, error) {
	payload, err := encode(n.Form())
	if err != nil {
		return nil, err
	}
	const dots = "…"
	over := len(payload) - item.MaxPayload
	if over <= 0 {
		return payload, nil
	}
	form := n.Form()
	form.Body = strings.ToValidUTF8(n.Body[:max(len(n.Body)-over-len(dots), 0)], "") + dots // escapes are longer: it may be more than is needed
	payload, err = encode(form)
	if err == nil && len(payload) > item.MaxPayload {
		return nil, fmt.Errorf("it is %d bytes long without its body, an item may have %d", len(payload), item.MaxPayload)
	}
	return payload, err
}

func encode(form notice.Form) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(form); err != nil {
		return nil, err
	}
	return text.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// episode is the episode of the notice that an item was made of, as a number: the due time of the firing that opened its
// finding. False where it is none, as of an event.
func episode(payload []byte) (int64, bool) {
	var of struct {
		Episode json.Number `json:"episode"`
	}
	if json.Unmarshal(payload, &of) != nil {
		return 0, false
	}
	n, err := of.Episode.Int64()
	return n, err == nil
}
