package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"tallyman/internal/app/doctor"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/internal/wire"
)

// doctorForm is the answer of doctor and of ledger verify.
type doctorForm struct {
	Wrong    int              `json:"wrong"`
	Warnings int              `json:"warnings"`
	Findings []doctor.Finding `json:"findings"`
}

func (c nodeCommands) doctor() *cobra.Command {
	return c.withServer(c.withConfig(&cobra.Command{
		Use:   "doctor",
		Short: "Look at a site: the machine, the ledger, Redis, sources, sinks, and a running server",
		Long: `Look at a site from its configuration: versions, clocks, time zones, rights in databases, the policy and memory of Redis, disk space, the
address of the API, the ends of certificates, the limit of open files, and whether the servers of sinks can be reached. The command changes
nothing and sends nothing.

With --server or TALLYMAN_SERVER the command asks a running server for its status, too.

Each line is ok, a warning, wrong, or skipped because the part was not checked, and has a code. Later versions keep the codes. Below a warning and a wrong line stands the way out. The exit code is 1 if
a line is wrong, and 0 if there are only warnings.`,
		Example: `  tallyman doctor --config site.yaml
  tallyman doctor --config site.yaml --server http://127.0.0.1:8080 --token-file admin.token -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			return c.printDoctor(c.examine(cmd.Context(), cfg))
		},
	}))
}

func (c nodeCommands) examine(ctx context.Context, cfg *config.Config) *doctorForm {
	version := buildVersion().Version
	form := &doctorForm{Findings: c.services.Examine(ctx, cfg, doctor.Options{Version: version})}
	if c.namesServer() || c.getenv("TALLYMAN_SERVER") != "" {
		var report wire.StatusReport
		if err := c.client().do(ctx, http.MethodGet, "/status", nil, &report); err != nil {
			form.Findings = append(form.Findings, doctor.ServerOut(err))
		} else {
			form.Findings = append(form.Findings, doctor.OfServer(&report, version)...)
		}
	}
	return form
}

// printDoctor counts the findings and prints them. Its error gives the exit code 1 where anything is wrong.
func (c *command) printDoctor(form *doctorForm) error {
	for i := range form.Findings {
		switch form.Findings[i].State {
		case doctor.Wrong:
			form.Wrong++
		case doctor.Warning:
			form.Warnings++
		case doctor.OK, doctor.Skipped:
		}
	}
	if err := c.print(form, func(w io.Writer) { writeDoctor(w, c.width(), form) }); err != nil {
		return err
	}
	if form.Wrong > 0 {
		return found()
	}
	return nil
}

func writeDoctor(w io.Writer, width int, form *doctorForm) {
	for i := range form.Findings {
		f := &form.Findings[i]
		about := f.Found
		if f.About != "" {
			about = f.About + ": " + f.Found
		}
		terminal.Wrap(w, width, fmt.Sprintf("%-8s %-18s ", f.State, f.Code), about)
		if f.WayOut != "" {
			terminal.Wrap(w, width, fmt.Sprintf("%-8s %-18s ", "", ""), "→ "+f.WayOut)
		}
	}
	fmt.Fprintf(w, "\n%d wrong, %s\n", form.Wrong, count(form.Warnings, "warning"))
}
