package inbox

import (
	"fmt"
	"strings"
)

// keySpace builds the names of all keys. No other Go code builds them. The keys of one warehouse share a hash tag, so
// they lie on one node of a cluster. With the prefix tallyman: and the sink inbox:
//
//	tallyman:inbox:epoch                     the epoch in force
//	tallyman:inbox:{119240}:clock            epoch, or its claim; clock, sweeps, open and last
//	tallyman:inbox:{119240}:notices          the bodies
//	tallyman:inbox:{119240}:expiry           blocks of ids by the time when they expire
//	tallyman:inbox:{119240}:inboxes          the subscribers that have an inbox
//	tallyman:inbox:{119240}:popups           the modal notices
//	tallyman:inbox:{119240}:readers          the users that have marks
//	tallyman:inbox:{119240}:wide             the wide notices, and how many inboxes hold each
//	tallyman:inbox:{119240}:of:role:keeper   one inbox
//	tallyman:inbox:{119240}:log:role:keeper  the last scores that the cap removed from that inbox
//	tallyman:inbox:{119240}:to:n_…           the recipients of a wide notice
//	tallyman:inbox:{119240}:marks:user:ann   the single notices that a user has read and acked
//	tallyman:inbox:{119240}:upto:user:ann    the user's watermarks: how far each inbox is read
type keySpace struct{ base string }

func newKeys(prefix, sink string) (keySpace, error) {
	for _, part := range [][2]string{{"prefix", prefix}, {"sink", sink}} {
		if strings.ContainsAny(part[1], "{}") || strings.ContainsFunc(part[1], func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return keySpace{}, fmt.Errorf("inbox: the %s %q must have no braces, spaces or control characters", part[0], part[1])
		}
	}
	if sink == "" {
		return keySpace{}, fmt.Errorf("inbox: the sink needs a name")
	}
	return keySpace{base: prefix + sink + ":"}, nil
}

// claim returns the text in place of the epoch while a warehouse is being emptied for this epoch.
func claim(epoch string) string { return epoch + ":begins" }

func (k keySpace) epoch() string { return k.base + "epoch" }
func (k keySpace) hints() string { return k.base + "hints" }

func (k keySpace) clock(warehouse string) string   { return k.of(warehouse) + "clock" }
func (k keySpace) notices(warehouse string) string { return k.of(warehouse) + "notices" }
func (k keySpace) expiry(warehouse string) string  { return k.of(warehouse) + "expiry" }
func (k keySpace) inboxes(warehouse string) string { return k.of(warehouse) + "inboxes" }
func (k keySpace) popups(warehouse string) string  { return k.of(warehouse) + "popups" }
func (k keySpace) readers(warehouse string) string { return k.of(warehouse) + "readers" }
func (k keySpace) wide(warehouse string) string    { return k.of(warehouse) + "wide" }

func (k keySpace) marks(warehouse, user string) string { return k.of(warehouse) + "marks:" + user }
func (k keySpace) upto(warehouse, user string) string  { return k.of(warehouse) + "upto:" + user }

// all returns the seven keys that each warehouse has once. Most scripts begin with some of them, in this order. The
// slice has capacity for more keys.
func (k keySpace) all(warehouse string, more int) []string {
	return append(make([]string, 0, 7+more),
		k.clock(warehouse), k.notices(warehouse), k.expiry(warehouse), k.inboxes(warehouse), k.popups(warehouse), k.readers(warehouse), k.wide(warehouse))
}

// addInboxes appends the keys of inboxes, then the keys of their logs.
func (k keySpace) addInboxes(keys []string, warehouse string, subscribers []string) []string {
	for _, s := range subscribers {
		keys = append(keys, k.inbox(warehouse, s))
	}
	for _, s := range subscribers {
		keys = append(keys, k.log(warehouse, s))
	}
	return keys
}

func (k keySpace) inbox(warehouse, subscriber string) string {
	return k.of(warehouse) + "of:" + subscriber
}

func (k keySpace) log(warehouse, subscriber string) string {
	return k.of(warehouse) + "log:" + subscriber
}

func (k keySpace) to(warehouse, id string) string { return k.of(warehouse) + "to:" + id }

func (k keySpace) of(warehouse string) string { return k.base + "{" + warehouse + "}:" }
