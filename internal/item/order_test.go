package item

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestServiceOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "7": 7000, "7.25": 7250, "7.250": 7250, "-0.5": -500, "0.001": 1, "4000000000000": MostOrder, "-4000000000000.000": -MostOrder,
		"007": 7000, "2026-05-01T14:00:00Z": 1777644000000000, "2026-05-01T14:00:00.000001+02:00": 1777636800000001,
	} {
		o, err := ParseServiceOrder(text)
		if err != nil || o != (ServiceOrder{Given: true, Thousandths: want}) {
			t.Errorf("%s is %+v, %v; want %d", text, o, err, want)
		}
	}
	if o, err := ParseServiceOrder(""); err != nil || o != (ServiceOrder{}) {
		t.Errorf("no order is %+v, %v", o, err)
	}
	for _, text := range []string{
		"x", "1e3", "+1", "1.", ".5", "-", "0.0001", "1,5", "NaN", "4000000000000.001", "99999999999999999999", "-99999999999999999999", "2100-01-01T00:00:00Z", "2026-05-01", " 1",
	} {
		if o, err := ParseServiceOrder(text); err == nil {
			t.Errorf("%q is %+v", text, o)
		}
	}
	if o := OrderAt(time.UnixMicro(7250)); o.String() != "7.25" {
		t.Errorf("7250 µs are %s", o)
	}
}

func TestServiceOrderTextIsReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := ServiceOrder{Given: true, Thousandths: rapid.Int64Range(-MostOrder, MostOrder).Draw(t, "order")}
		if got, err := ParseServiceOrder(o.String()); err != nil || got != o {
			t.Fatalf("%+v is written %s, and read as %+v, %v", o, o, got, err)
		}
	})
}

func FuzzParseServiceOrder(f *testing.F) {
	for _, text := range []string{"1", "-1.5", "2026-05-01T14:00:00Z", "1e9", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseServiceOrder(text)
		if err != nil {
			return
		}
		if again, err := ParseServiceOrder(o.String()); err != nil || again != o {
			t.Errorf("%q is %+v, written %s, read as %+v, %v", text, o, o, again, err)
		}
	})
}
