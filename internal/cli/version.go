package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionForm says what was built from what.
type versionForm struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, where it was built from a repository
	Modified bool   `json:"modified,omitempty"` // the source had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildVersion reads what the toolchain stamped into the binary.
func buildVersion() versionForm {
	v := versionForm{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (c *command) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return c.print(v, func(w io.Writer) {
				fmt.Fprintf(w, "tallyman %s", v.Version)
				if v.Revision != "" {
					fmt.Fprintf(w, " (%.12s)", v.Revision)
				}
				fmt.Fprintf(w, " %s %s\n", v.Go, v.Platform)
			})
		},
	}
}
