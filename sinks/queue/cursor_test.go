package queue

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tallyman/internal/item"
)

func TestCursorIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := cursor{
			level: rapid.IntRange(0, item.HighestPriority).Draw(t, "level"), at: rapid.Int64Range(-maxExact, maxExact).Draw(t, "at"),
			source: rapid.StringMatching(`[A-Za-z0-9%=]{1,20}(/o)?`).Draw(t, "source"),
			member: rapid.StringMatching(`([0-9]{16} )?[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}`).Draw(t, "member"),
		}
		text := c.encode(item.Stored, "")
		if got, err := decodeCursor(text, item.Stored, ""); err != nil || got != c {
			t.Fatalf("%+v became %+v, %v", c, got, err)
		}
		var invalid *item.InvalidError
		if _, err := decodeCursor(text, item.Dead, ""); !errors.As(err, &invalid) || invalid.Field != "after" {
			t.Fatalf("the cursor of another state: %v", err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{level: 3, at: 17, source: "W", member: "i_1"}.encode(item.Ready, ""))
	f.Add("")
	f.Add("cmVhZHkgOSAtMSBpXzE")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeCursor(text, item.Ready, "")
		if err != nil {
			return
		}
		if c.level < 0 || c.level > item.HighestPriority || c.at < -maxExact || c.at > maxExact {
			t.Errorf("%q was read as %+v", text, c)
		}
		if again, err := decodeCursor(c.encode(item.Ready, ""), item.Ready, ""); err != nil || again != c {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}
