package codec

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
)

// column builds the column as statements do. The first attempt of the list was recorded first.
func column(at time.Time, list ...delivery.Attempt) string {
	out := ""
	for i := range list {
		_, line := Attempt(&list[i])
		out = micros(at.Add(time.Duration(i)*time.Second)) + line + out
		out = out[:min(len(out), 6000)]
	}
	return out
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	long := strings.Repeat("仓", 100)
	got, err := Attempts(column(at,
		delivery.Attempt{Took: 1500 * time.Millisecond, Status: 503, Error: "gateway answered 503:\n try \t later\x00"},
		delivery.Attempt{Took: -1, Status: -1, Error: long},
		delivery.Attempt{Took: time.Millisecond, Status: 200},
		delivery.Attempt{Status: 422, Refused: true, Error: "no such number"},
		delivery.Attempt{Refused: true, Error: "the queue takes no such item"},
	))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []delivery.Attempt{
		{At: at.Add(4 * time.Second), Refused: true, Error: "the queue takes no such item"},
		{At: at.Add(3 * time.Second), Status: 422, Refused: true, Error: "no such number"},
		{At: at.Add(2 * time.Second), Took: time.Millisecond, Status: 200},
		{At: at.Add(time.Second), Error: long[:249]}, // a character has three bytes
		{At: at, Took: 1500 * time.Millisecond, Status: 503, Error: "gateway answered 503: try later\uFFFD"},
	}, got)
}

// However long the errors are, exactly the last attempts are kept.
func TestAttemptsAreTheLastOnes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	for _, text := range []string{"", "down", strings.Repeat("x", 5000), strings.Repeat("仓", 5000)} {
		list := make([]delivery.Attempt, 90)
		for i := range list {
			list[i] = delivery.Attempt{Took: 5 * time.Minute, Status: 503, Error: text}
		}
		got, err := Attempts(column(at, list...))
		if err != nil || len(got) != delivery.KeptAttempts || !got[0].At.Equal(at.Add(89*time.Second)) || !got[19].At.Equal(at.Add(70*time.Second)) {
			t.Errorf("%d are kept of 90 with an error of %d bytes, %v", len(got), len(text), err)
		}
	}
}

func TestAttemptsAgo(t *testing.T) {
	t.Parallel()
	if ago, _ := Attempt(&delivery.Attempt{At: time.Now().Add(-time.Minute)}); ago < 60e6 || ago > 120e6 {
		t.Errorf("%d µs", ago)
	}
	if ago, _ := Attempt(&delivery.Attempt{At: time.Now().Add(time.Hour)}); ago != 0 {
		t.Errorf("%d µs since an attempt that is to come", ago)
	}
}

func TestAttemptsRefusesWhatItDidNotWrite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\n", "1 2 3\n", "1 2 x down\n", "1 2 3 \n4\n"} {
		if _, err := Attempts(text); err == nil || !strings.Contains(err.Error(), "attempt ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Decoding and encoding again gives the same column, however often.
func FuzzAttempts(f *testing.F) {
	f.Add("1780300800000000 1500000 503 down\n1780300799000000 0 0 \n1780300798000000 7 0 cut o")
	f.Add("1 2 3 \n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Attempts(text)
		if err != nil {
			return
		}
		again := ""
		for i := range list {
			_, line := Attempt(&delivery.Attempt{Took: list[i].Took, Status: list[i].Status, Error: list[i].Error})
			again += micros(list[i].At) + line
		}
		back, err := Attempts(again)
		if err != nil || len(back) != len(list) {
			t.Fatalf("%q became %q: %d of %d, %v", text, again, len(back), len(list), err)
		}
	})
}

func micros(t time.Time) string { return strconv.FormatInt(Micros(t), 10) }
