package notice_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/notice"
)

// The ledger partitions notices by the beginnings of their ids. So ids must lie in the range of the day of their
// episode, and days must sort like time.
func TestIDsLieInTheirDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		due := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 31743*24*60*60-1).Draw(t, "second")) * time.Second)
		term := rapid.Int64Range(0, 3).Draw(t, "term")
		id := notice.ID("r", "s", rapid.String().Draw(t, "key"), notice.EpisodeAt(term, due), notice.Firing, 0)
		day := notice.DayOf(due)
		if id < day.IDs() || id >= (day+1).IDs() || len(id) != 28 {
			t.Fatalf("%s of %s is not between %s and %s", id, due, day.IDs(), (day + 1).IDs())
		}
	})
}

func TestIDsWithoutADay(t *testing.T) {
	t.Parallel()
	late := time.Date(2107, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	for _, episode := range []string{"", "1", "[1780272600000000]", "2:[7]", "a hash", strconv.FormatInt(late, 10)} {
		if id := notice.ID("r", "s", "k", episode, notice.Event, 0); !strings.HasPrefix(id, "n_z") || len(id) != 28 {
			t.Errorf("the id of episode %q is %s", episode, id)
		}
	}
}
