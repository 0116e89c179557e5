package queue

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"tallyman/internal/item"
	"tallyman/internal/strictjson"
	"tallyman/internal/text"
)

const nameRule = "must be 1 to 128 letters, digits or _ . : @ - and begin with a letter or digit"

// isName tells whether a text can be the id of an item or of a request, or the name of a worker. isName runs for every
// item, so it uses no regexp.
func isName(s string) bool { return isWord(s, item.MaxName) }

// isWord tells whether a text has only the characters that nameRule allows, and 1 to longest bytes.
func isWord(s string, longest int) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("_.:@-", rune(c))) {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

func checkName(field string, index int, name string) error {
	if !isName(name) {
		return invalid(field, index, nameRule)
	}
	return nil
}

// checkNew returns what is wrong with an item of a push, or nil.
func checkNew(i int, n *item.New) error {
	if n.ID != "" {
		if err := checkName("id", i, n.ID); err != nil {
			return err
		}
	}
	if len(n.Payload) <= item.MaxPayload {
		if err := strictjson.Check(n.Payload); err != nil { // all readers, this program included, must see the same value
			return invalid("payload", i, "must be a JSON value in UTF-8: %s", err)
		}
	}
	switch {
	case len(n.Warehouse) > item.MaxWarehouse:
		return invalid("warehouse", i, "has %d bytes; at most %d are allowed", len(n.Warehouse), item.MaxWarehouse)
	case !utf8.ValidString(n.Warehouse) || strings.Contains(n.Warehouse, "\x00"):
		return invalid("warehouse", i, "must be UTF-8 without zero bytes")
	case n.Priority < item.LowestPriority || n.Priority > item.HighestPriority:
		return invalid("priority", i, "must be %d to %d", item.LowestPriority, item.HighestPriority)
	case len(n.Payload) > item.MaxPayload:
		return invalid("payload", i, "has %d bytes; at most %d are allowed", len(n.Payload), item.MaxPayload)
	case len(n.DedupeKey) > item.MaxKey:
		return invalid("dedupeKey", i, "has %d bytes; at most %d are allowed", len(n.DedupeKey), item.MaxKey)
	case !utf8.ValidString(n.DedupeKey) || strings.Contains(n.DedupeKey, "\x00"):
		return invalid("dedupeKey", i, "must be UTF-8 without zero bytes")
	case n.Again && n.ID == "":
		return invalid("again", i, "needs the id of the item")
	case !text.IsKey(n.Request):
		return invalid("request", i, "must be 1 to %d printable ASCII characters", text.MaxKey)
	case n.Delay < 0 || n.Delay > MaxDelay:
		return invalid("delay", i, "must be 0 to %d days", MaxDelay/(24*time.Hour))
	case !n.Created.IsZero() && n.Created.UnixMicro() <= 0:
		return invalid("createdAt", i, "must be after 1970")
	}
	return nil
}

// checkStep returns what is wrong with a step, or nil.
func checkStep(s *item.Step) error {
	if s.Subject != "" {
		if !isWord(s.Subject, item.MaxSubject) {
			return invalid("subject", -1, nameRule)
		}
	}
	if s.Worker != "" || s.Max > 0 || s.RequestID != "" {
		if err := checkName("worker", -1, s.Worker); err != nil {
			return err
		}
	}
	if s.RequestID != "" {
		if err := checkName("requestId", -1, s.RequestID); err != nil {
			return err
		}
	}
	switch {
	case s.Order != nil && (s.Order.By == "" || s.Order.Via == ""):
		return invalid("order", -1, "must say who asks and how they were authenticated")
	case len(s.Ops) > item.MaxBatch:
		return invalid("ops", -1, "has %d operations; at most %d are allowed", len(s.Ops), item.MaxBatch)
	case s.Max < 0 || s.Max > item.MaxBatch:
		return invalid("max", -1, "must be 0 to %d", item.MaxBatch)
	case s.Lease != 0 && (s.Lease < time.Millisecond || s.Lease > MaxLease):
		return invalid("lease", -1, "must be 1 ms to %d hours", MaxLease/time.Hour)
	case s.Wait < 0 || s.Wait > MaxWait:
		return invalid("wait", -1, "must be 0 to %d seconds", MaxWait/time.Second)
	}
	for i := range s.Ops {
		if err := checkOp(i, &s.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkOp(i int, op *item.Op) error {
	if err := checkName("id", i, op.ID); err != nil {
		return err
	}
	most, field, limit := time.Duration(0), "delay", "0"
	switch op.Kind {
	case item.Ack, item.Nack, item.Release, item.Extend:
		if op.Attempt == 0 {
			return invalid("attempt", i, "must not be 0: %s needs the attempt of the lease", op.Kind)
		}
	case item.Finish, item.Remove, item.Requeue, item.Set:
		if op.Attempt != 0 {
			return invalid("attempt", i, "must be 0: %s is for items that no worker holds", op.Kind)
		}
	case item.Suspend, item.Store, item.Assign:
	default:
		return invalid("op", i, "%q is not an operation", op.Kind)
	}
	switch op.Kind {
	case item.Nack, item.Store:
		most, limit = MaxDelay, fmt.Sprintf("0 to %d days", MaxDelay/(24*time.Hour))
	case item.Extend:
		most, field, limit = MaxLease, "lease", fmt.Sprintf("0 to %d hours", MaxLease/time.Hour)
	case item.Assign:
		if op.Worker != "" {
			subject, worker, both := strings.Cut(op.Worker, item.NameSeparator)
			if !isWord(subject, item.MaxSubject) || both && !isName(worker) {
				return invalid("worker", i, "must be a worker, a subject or <subject>/<worker>; each "+nameRule)
			}
		}
	case item.Set:
		return checkSetting(i, op.Set)
	default: // the other operations have no further arguments
	}
	switch {
	case op.Attempt < 0:
		return invalid("attempt", i, "must be positive")
	case op.Delay < 0 || op.Delay > most:
		return invalid(field, i, "must be %s", limit)
	case op.Kind == item.Store && op.Delay < time.Microsecond:
		return invalid("delay", i, "must be positive: it is the time for which the item is stored")
	}
	return nil
}

func checkSetting(i int, s *item.Setting) error {
	switch {
	case s == nil || s.Priority == 0 && s.Order == nil && s.Source == 0:
		return invalid("priority", i, "give a priority, an order or both")
	case s.Priority != 0 && (s.Priority < item.LowestPriority || s.Priority > item.HighestPriority):
		return invalid("priority", i, "must be %d to %d", item.LowestPriority, item.HighestPriority)
	case s.Source == 0 && len(s.Payload) > 0:
		return errors.New("queue: a payload comes from a record")
	}
	return nil
}

// cutNote shortens a note to item.MaxNote bytes. cutNote never cuts inside a character.
func cutNote(note string) string {
	note = strings.ToValidUTF8(note, "\uFFFD")
	if len(note) <= item.MaxNote {
		return note
	}
	n := item.MaxNote
	for !utf8.RuneStart(note[n]) {
		n--
	}
	return note[:n]
}
