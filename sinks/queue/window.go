package queue

import (
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Window is how long an item holds its dedupe key. The zero value is until the item has ended; a dead item has not.
type Window struct {
	Day bool          // the day, in the queue's timezone, in which the item was created
	For time.Duration // this long from the item's creation, whatever becomes of it
}

// bucket names a dedupe key together with its window, and says when the window ends: zero for until the item has ended. Items
// of different windows never meet: a day is part of the name, so that what was created before midnight and arrives after it
// is held against the day that it belongs to. Neither do those of different warehouses. The key is hashed, which keeps the name short whatever the key is.
func (w Window) bucket(warehouse, key string, created time.Time, zone *time.Location) (name string, until time.Time) {
	if warehouse != "" {
		key = warehouse + "\x00" + key
	}
	sum := sha256.Sum256([]byte(key))
	hash := base64.RawURLEncoding.EncodeToString(sum[:16])
	switch {
	case w.Day:
		day := created.In(zone)
		year, month, date := day.Date()
		return "d" + day.Format("20060102") + ":" + hash, time.Date(year, month, date+1, 0, 0, 0, 0, zone)
	case w.For > 0:
		return "w:" + hash, created.Add(w.For)
	default:
		return "u:" + hash, time.Time{}
	}
}
