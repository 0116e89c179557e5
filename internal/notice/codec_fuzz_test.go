package notice_test

import (
	"encoding/json"
	"encoding/xml"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/notice"
)

// FuzzUnmarshal checks that no bytes crash the decoder, and that every decoded notice can be encoded again in all
// three forms.
func FuzzUnmarshal(f *testing.F) {
	for _, n := range []*notice.Notice{sample(), odd()} {
		data, err := notice.Marshal(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte{})
	f.Add([]byte{0x0a, 1, 'x', 0xa2, 0x01, 1, 'y'})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := notice.Recipients(data); err != nil {
			if _, err := notice.Unmarshal(data); err == nil {
				t.Fatal("a notice whose recipients cannot be read")
			}
		}
		n, err := notice.Unmarshal(data)
		if err != nil {
			return
		}
		again, err := notice.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := notice.Unmarshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		if n.CreatedAt.Year() > 9999 || n.CreatedAt.Year() < 0 || n.ExpiresAt.Year() > 9999 || n.ExpiresAt.Year() < 0 {
			return // such years have no RFC 3339 form
		}
		if _, err := json.Marshal(notice.View{Notice: n}); err != nil {
			t.Fatal(err)
		}
		out, err := xml.Marshal(notice.View{Notice: n})
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(out, new(struct{})); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
	})
}
