package notice

import (
	"encoding/base32"
	"time"
)

// Day is a day of UTC, counted from 1970. The ledger keeps the notices of a day together, and finds a notice by the day in its id.
type Day int64

// DayOf returns the day of a time.
func DayOf(at time.Time) Day { return Day(at.Unix() / daySeconds) }

// Begin is when the day begins.
func (d Day) Begin() time.Time { return time.Unix(int64(d)*daySeconds, 0).UTC() }

// FirstDay is the first one that an id can name, 2020-01-01.
const FirstDay = Day(18262)

const (
	daySeconds = 24 * 60 * 60
	idLength   = 26 // characters of an id behind its prefix
)

// alphabet is sorted, so that ids sort by their days.
const alphabet = "234567abcdefghijklmnopqrstuvwxyz"

var idEncoding = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// keyed begins what follows the prefix in ids that name no day. It sorts behind all days.
const keyed = "z"

// lastDay is the last one that an id can name, in the year 2106.
const lastDay = FirstDay + 31*32*32 - 1

// IDs returns the lowest text with which ids of notices of the day begin. Those of the day sort between this and that of the next day.
func (d Day) IDs() string { return "n_" + d.letters() }

// letters are three, or those of keyed for a day that has none.
func (d Day) letters() string {
	if d < FirstDay || d > lastDay {
		return keyed
	}
	n := d - FirstDay
	return string([]byte{alphabet[n>>10], alphabet[n>>5&31], alphabet[n&31]})
}
