package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// message is what one call says. The same deliveries make the same one.
type message struct {
	id   string // webhook-id and Idempotency-Key
	body []byte
}

// compose makes the message. Notices that have no JSON are refused.
func compose(batch []delivery.Delivery, together bool) (message, error) {
	var refused sinks.RefusedError
	list := make([][]byte, len(batch))
	for i, d := range batch {
		var err error
		if list[i], err = d.Notice.MarshalJSON(); err != nil {
			refused.Seqs, refused.Err = append(refused.Seqs, d.Seq), err
		}
	}
	switch {
	case refused.Err != nil:
		return message{}, &refused
	case !together && len(batch) == 1:
		return message{id: batch[0].Notice.ID, body: list[0]}, nil
	default:
		body := append([]byte(`{"notices":[`), bytes.Join(list, []byte(","))...)
		return message{id: batchID(batch), body: append(body, "]}"...)}, nil
	}
}

// batchID is a hash of the notices' ids in their order: what makes the body is what makes the id.
func batchID(batch []delivery.Delivery) string {
	h := sha256.New()
	for _, d := range batch {
		_, _ = h.Write([]byte(d.Notice.ID + "\n"))
	}
	return "b_" + hex.EncodeToString(h.Sum(nil)[:16])
}
