package inbox

import (
	"strings"
	"testing"
)

func TestOfSeveralBadNamesTheFirstIsTold(t *testing.T) {
	t.Parallel()
	for range 100 {
		if _, err := newKeys("{p}", "{s}"); err == nil || !strings.Contains(err.Error(), "prefix") {
			t.Fatal(err)
		}
	}
}
