//go:build linux

package packages

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

var exposure = regexp.MustCompile(`Overall exposure level for tallyman.service: ([0-9.]+)`)

// TestUnit: systemd takes the unit, and finds it well locked in: 2.0 or better of 10.
func TestUnit(t *testing.T) {
	t.Parallel()
	const most = 2.0
	said := run(t, exec.Command("systemd-analyze", "security", "--offline=true", "./tallyman.service"))
	found := exposure.FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("systemd-analyze does not say how exposed the unit is:\n%s", said)
	}
	if level, err := strconv.ParseFloat(found[1], 64); err != nil || level > most {
		t.Errorf("the exposure of the unit is %s, want %.1f at most:\n%s", found[1], most, said)
	}
}
