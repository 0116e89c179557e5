package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the version of this code: the version of the last release, or of the next release while people work on it.
// No other file of the program has the version. scripts/release.sh refuses to make a release of another version.
const Version = "0.1.0"

// commit and date describe the source of a release. scripts/release.sh sets both through the linker. A build without
// these values is no release.
var (
	commit string
	date   string // In the form of RFC 3339.
)

// versionForm is the answer of version: the version of the build, its source and its toolchain.
type versionForm struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // of the source, where the build knows it
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the source had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildVersion returns the version that the release script or the toolchain stamped into the binary.
func buildVersion() versionForm {
	info, _ := debug.ReadBuildInfo()
	return versionOf(commit, date, info)
}

// versionOf returns the version of a build. commit and date are set for a release, and empty for any other build. The
// version of another build sorts before the version of the release. info is nil if the toolchain has stamped nothing.
func versionOf(commit, date string, info *debug.BuildInfo) versionForm {
	v := versionForm{Version: Version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if commit != "" {
		return v
	}
	v.Version += "-dev"
	if info == nil {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
			v.Version += fmt.Sprintf("+%.12s", s.Value)
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (c nodeCommands) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and its date",
		Example: "  tallyman version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return c.print(v, func(w io.Writer) {
				fmt.Fprintf(w, "tallyman %s", v.Version)
				if v.Commit != "" {
					fmt.Fprintf(w, " (%.12s, %.10s)", v.Commit, v.Date)
				}
				fmt.Fprintf(w, " %s %s\n", v.Go, v.Platform)
			})
		},
	}
}
