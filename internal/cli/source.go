package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/app/sourcetest"
	"tallyman/internal/cli/terminal"
	"tallyman/scanners/scannertest"
)

// sourceURL is the variable with the address of the source. Use it instead of --url for an address with a password,
// because other users can see the arguments of a process.
const sourceURL = "TALLYMAN_SOURCE_URL"

// sourceTestForm is the answer of source test.
type sourceTestForm struct {
	Driver  string           `json:"driver"`
	Version string           `json:"server_version"`
	Checks  []sourceTestLine `json:"checks"`
}

type sourceTestLine struct {
	Check      string `json:"check"`
	Result     string `json:"result"` // ok, failed or skipped
	DurationMS int64  `json:"duration_ms"`
	Detail     string `json:"detail,omitempty"`
}

// source makes the commands about databases that need no configuration.
func (c nodeCommands) source() *cobra.Command {
	var o sourcetest.Target
	test := &cobra.Command{
		Use:   "test --driver DRIVER [--url URL]",
		Short: "Test a driver against a server, with the suite that every driver of Tallyman passes",
		Long: `Test a driver against your own server: values of every kind, NULLs, parameters, timeouts, limits, and that writes are refused. Tallyman's own tests run
the same suite.

Without --create-schema the suite runs SELECTs of constant rows, reads no table and writes nothing. Checks that need tables are
skipped. Each SELECT keeps the server busy for a second at most. Run the command against a test server if you have
one.

With --create-schema NAME the suite also makes tables. The command creates the schema and drops it at the end, also after a failure or an interruption.
The command refuses a NAME that exists. NAME is a schema in PostgreSQL and SQL Server, a database in MySQL and MariaDB, a user in Oracle, a file beside the source's in
SQLite; the user of the URL needs the rights to create and drop it. In Oracle these rights are CREATE USER and DROP USER, and CREATE SESSION, CREATE TABLE and UNLIMITED
TABLESPACE with the right to grant them.

The table names neither host, user, database nor password: you can send it to us.`,
		Example: `  export TALLYMAN_SOURCE_URL='oracle://tallyman_probe:…@wms-db:1521/service'
  tallyman source test --driver oracle
  tallyman source test --driver oracle --create-schema tallyman_try -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.URL = cmp.Or(o.URL, c.getenv(sourceURL)); o.URL == "" {
				return usage("name the server with --url or %s", sourceURL)
			}
			report, err := c.services.TestSource(cmd.Context(), o)
			switch {
			case errors.Is(err, sourcetest.ErrUsage):
				return &exitError{ExitUsage, err}
			case err != nil:
				return unreachable(err)
			}
			form := sourceTestOf(report)
			if err := c.print(form, func(w io.Writer) { writeSourceTest(w, c.width(), form) }); err != nil {
				return err
			}
			if report.Failed() || cmd.Context().Err() != nil {
				return found()
			}
			return nil
		},
	}
	flags := test.Flags()
	flags.StringVar(&o.Driver, "driver", "", "postgres, mysql, sqlserver, oracle or sqlite")
	flags.StringVar(&o.URL, "url", "", "the address, as in the url of a source (default $"+sourceURL+")")
	flags.StringVar(&o.Schema, "create-schema", "", "a schema to make, use and drop; refused where it exists")
	return group("source", "Test the database of a source", test)
}

func sourceTestOf(r *sourcetest.Report) sourceTestForm {
	form := sourceTestForm{Driver: r.Driver, Version: r.Version}
	for _, c := range r.Results {
		form.Checks = append(form.Checks, sourceTestLine{Check: c.Check, Result: string(c.Outcome), DurationMS: c.Took.Milliseconds(), Detail: c.Detail})
	}
	return form
}

// writeSourceTest writes a line for each check, and below the lines the failures in full, because sites send us this
// output.
func writeSourceTest(w io.Writer, width int, form sourceTestForm) {
	rows := make([][]string, len(form.Checks))
	counts := map[string]int{}
	for i, c := range form.Checks {
		detail := ""
		if c.Result == string(scannertest.Skipped) {
			detail = c.Detail
		}
		rows[i] = []string{c.Check, c.Result, (time.Duration(c.DurationMS) * time.Millisecond).String(), orDash(detail)}
		counts[c.Result]++
	}
	fmt.Fprintf(w, "Driver %s, server %s\n\n", form.Driver, form.Version)
	header := []string{"CHECK", "RESULT", "TOOK", "DETAIL"}
	terminal.Spread(w, width, header, rows, header)
	for _, c := range form.Checks {
		if c.Result == string(scannertest.Failed) {
			fmt.Fprintf(w, "\n%s failed:\n%s\n", c.Check, c.Detail)
		}
	}
	fmt.Fprintf(w, "\n%d ok, %d failed, %d skipped\n", counts[string(scannertest.Passed)], counts[string(scannertest.Failed)], counts[string(scannertest.Skipped)])
}
