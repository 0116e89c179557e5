package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionOf: a release has what its script stamps; another build is before the release, and names its source.
func TestVersionOf(t *testing.T) {
	t.Parallel()
	const revision = "0123456789abcdef0123456789abcdef01234567"
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: "2026-11-28T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	for _, c := range []struct {
		name         string
		commit, date string
		info         *debug.BuildInfo
		want         versionForm
	}{
		{"release", "feed", "2026-12-01T00:00:00Z", stamped, versionForm{Version: Version, Commit: "feed", Date: "2026-12-01T00:00:00Z"}},
		{"from a repository", "", "", stamped, versionForm{Version: Version + "-dev+0123456789ab", Commit: revision, Date: "2026-11-28T03:04:05Z", Modified: true}},
		{"from an archive", "", "", &debug.BuildInfo{}, versionForm{Version: Version + "-dev"}},
		{"without information", "", "", nil, versionForm{Version: Version + "-dev"}},
	} {
		c.want.Go, c.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
		if diff := cmp.Diff(c.want, versionOf(c.commit, c.date, c.info)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// TestVersionOfWhatIsDeployed: the chart and the image of Compose have the version of the code.
func TestVersionOfWhatIsDeployed(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"helm/tallyman/Chart.yaml": "\nversion: " + Version + "\nappVersion: " + Version + "\n",
		"compose.yaml":             "${TALLYMAN_IMAGE:-tallyman:" + Version + "}",
	} {
		b, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil || !strings.Contains(string(b), text) {
			t.Errorf("deploy/%s lacks %q: %v", file, text, err)
		}
	}
}
