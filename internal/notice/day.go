package notice

import (
	"encoding/base32"
	"time"
)

// Day is a day in UTC, counted from 1970. The ledger keeps the notices of a day together, and finds a notice by the
// day in its id.
type Day int64

// DayOf returns the day of a time.
func DayOf(at time.Time) Day { return Day(at.Unix() / daySeconds) }

// Begin returns the start of the day.
func (d Day) Begin() time.Time { return time.Unix(int64(d)*daySeconds, 0).UTC() }

// FirstDay is the first day that an id can name, 2020-01-01.
const FirstDay = Day(18262)

const (
	daySeconds = 24 * 60 * 60
	idLength   = 26 // characters of an id after its prefix
)

// alphabet is sorted, so that ids sort by their days.
const alphabet = "234567abcdefghijklmnopqrstuvwxyz"

var idEncoding = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// keyed follows the prefix in ids that name no day. It sorts behind all days.
const keyed = "z"

// lastDay is the last day that an id can name, in the year 2106.
const lastDay = FirstDay + 31*32*32 - 1

// IDs returns the lowest text with which the ids of the day's notices can begin. The ids of the day sort between this
// text and the text of the next day.
func (d Day) IDs() string { return "n_" + d.letters() }

// letters returns the three letters of the day, or keyed for a day that ids cannot name.
func (d Day) letters() string {
	if d < FirstDay || d > lastDay {
		return keyed
	}
	n := d - FirstDay
	return string([]byte{alphabet[n>>10], alphabet[n>>5&31], alphabet[n&31]})
}
