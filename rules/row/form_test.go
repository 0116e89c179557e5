package row_test

import (
	"testing"
	"time"

	"tallyman/rules/row"
)

// TestFormsSort knows the forms in which a later time is not a greater text.
func TestFormsSort(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]bool{
		"2006-01-02 15:04:05.9999999": true, "2006-01-02T15:04:05Z": true, "2006-01-02T15:04:05.000Z": true, "20060102150405": true, "2006-01-02": true, "2006-002": true, "060102": false,
		"02.01.2006 15:04": false, "2006-1-2 15:04:05": false, "2006-01-02 03:04:05 PM": false, "2006-Jan-02": false, "2006-01-02T15:04:05Z07:00": false,
		"2006-01-02 15:04:05 MST": false, "15:04:05": false, "2006-01-02T15:04:05.999Z": false, "2006-01-02 3:04:05": false,
	} {
		if got := (row.Form{Kind: row.Time, Layout: layout}).Sorts(); got != want {
			t.Errorf("%s sorts: %t", layout, got)
		}
	}
}

// TestFormsReadWhatTheyWrite takes moments through each form and back.
func TestFormsReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	shanghai := time.FixedZone("+08:00", 8*3600)
	for _, f := range []row.Form{
		{Kind: row.Time, Layout: "2006-01-02 15:04:05.9999999"},
		{Kind: row.Time, Layout: "20060102150405", Zone: shanghai},
		{Kind: row.Time, Unit: time.Second},
		{Kind: row.Time, Unit: time.Millisecond},
		{Kind: row.Time, Zone: shanghai},
		{Kind: row.Date, Layout: "20060102"},
	} {
		c := &row.Column{Name: "at", Zone: time.FixedZone("-03:00", -3*3600)}
		for _, at := range []time.Time{time.Unix(0, 0), time.Unix(-86400*365, 0), time.Date(2026, 6, 1, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)} {
			v := row.TimeOf(at)
			if f.Kind == row.Date {
				v = row.DateOf(at.UTC())
			}
			if got, err := f.Read(f.Write(v, c), c); err != nil || got.String() != v.String() {
				t.Errorf("%s: %s is read as %s, %v", f, v, got, err)
			}
		}
	}
	half := row.Form{Kind: row.Time, Unit: time.Millisecond}
	if got, err := half.Read(row.IntOf(-1), &row.Column{}); err != nil || got.String() != "1969-12-31T23:59:59.999Z" {
		t.Errorf("before 1970: %s, %v", got, err)
	}
	for _, far := range []int64{1 << 62, -1 << 62} {
		if got, err := (row.Form{Kind: row.Time, Unit: time.Second}).Read(row.IntOf(far), &row.Column{}); err == nil {
			t.Errorf("%d seconds are %s", far, got)
		}
	}
}
