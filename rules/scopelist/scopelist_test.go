package scopelist

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func anyList() *rapid.Generator[List] {
	value := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "int") }),
		rapid.Custom(func(t *rapid.T) any {
			return rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }).Draw(t, "float")
		}),
		rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "bool") }),
	)
	return rapid.Custom(func(t *rapid.T) List {
		list := List{}
		for name, params := range rapid.MapOf(rapid.StringMatching(`[A-Z0-9]{1,4}`), rapid.MapOf(rapid.StringMatching(`[a-z]{1,3}`), value)).Draw(t, "scopes") {
			s := Scope{Name: name, Timezone: rapid.SampledFrom([]string{"", "UTC", "Asia/Shanghai"}).Draw(t, "zone")}
			if len(params) > 0 {
				s.Params = params
			}
			list = append(list, s)
		}
		list.Sort()
		return list
	})
}

// TestTextKeepsAList with the kinds of its values: 2.0 stays a float64.
func TestTextKeepsAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := anyList().Draw(t, "list")
		text, err := list.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if err != nil || len(list)+len(again) > 0 && !reflect.DeepEqual(list, again) {
			t.Fatalf("%v, %v, %v", list, again, err)
		}
	})
}

// TestDifferent: what one list changes in another makes the other of it.
func TestDifferent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		present, wanted := anyList().Draw(t, "present"), anyList().Draw(t, "wanted")
		d := Different(present, wanted)
		made := map[string]Scope{}
		for _, s := range present {
			made[s.Name] = s
		}
		for _, s := range d.Removed {
			delete(made, s.Name)
		}
		for _, s := range append(d.Added, d.Changed...) {
			made[s.Name] = s
		}
		if len(made) != len(wanted) {
			t.Fatalf("%v", made)
		}
		for _, s := range wanted {
			if !reflect.DeepEqual(made[s.Name], s) {
				t.Fatalf("%v is %v", s, made[s.Name])
			}
		}
	})
}

// TestWaits: an empty list, and one that removes more than half.
func TestWaits(t *testing.T) {
	t.Parallel()
	list := func(n int) (l List) {
		for i := range n {
			l = append(l, Scope{Name: fmt.Sprint(i)})
		}
		return l
	}
	for _, c := range []struct {
		present, wanted int
		known, waits    bool
	}{
		{0, 0, false, true}, {0, 0, true, false}, {0, 5, false, false}, {4, 2, true, false}, {4, 1, true, true}, {1, 0, true, true}, {0, 1, true, false},
	} {
		d := Different(list(c.present), list(c.wanted))
		if got := d.Waits(list(c.present), list(c.wanted), c.known); got != c.waits {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`[]`, `[{"name":"1","timezone":"UTC","params":{"a":1,"b":1.5,"c":"x","d":true}}]`, `[{"name":"2"},{"name":"1"}]`, `[{"params":{"a":null}}]`, `{`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		again, err := list.Text()
		if err != nil {
			t.Fatal(err)
		}
		if second, err := Parse(again); err != nil || !reflect.DeepEqual(list, second) && len(list)+len(second) > 0 {
			t.Errorf("%s: %v, %v", strings.ToValidUTF8(text, "?"), second, err)
		}
	})
}
