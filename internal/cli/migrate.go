package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/app"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
)

// migrationForm is a migration of the schema in the output.
type migrationForm struct {
	Version int64      `json:"version"`
	Name    string     `json:"name"`  // "" = the step of a newer version
	Phase   string     `json:"phase"` // expand or contract
	Oldest  int64      `json:"oldest,omitempty"`
	Locks   string     `json:"locks"`
	Lasts   string     `json:"lasts"`
	Applied *time.Time `json:"applied"` // null = pending
}

// planForm says what migrate up would do.
type planForm struct {
	Schema     int64           `json:"schema"`      // the version of the ledger's schema; 0 = none
	OldVersion string          `json:"old_version"` // can nodes with this schema go on? goes_on, stops or none
	OtherNodes []nodeForm      `json:"other_nodes"` // the live nodes that run another version of the program
	Steps      []migrationForm `json:"steps"`
}

// nodeForm is a live node.
type nodeForm struct {
	Name    string `json:"name"`
	Version string `json:"version"` // of the program
}

const upToDate = "Nothing to do: the schema is up to date."

func (c nodeCommands) migrate() *cobra.Command {
	return group("migrate", "Keep the ledger's schema at this program's version", c.migrateUp(), c.migrateStatus())
}

func (c nodeCommands) migrateUp() *cobra.Command {
	var plan, expand, force bool
	cmd := c.withConfig(&cobra.Command{
		Use:   "up",
		Short: "Bring the ledger's schema up to date",
		Example: "  tallyman migrate up --plan --config site.yaml\n" +
			"  tallyman migrate up --expand --config site.yaml",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			version := buildVersion().Version
			if plan {
				steps, err := c.services.MigrateStatus(cmd.Context(), cfg)
				if err != nil {
					return err
				}
				nodes, err := c.services.OtherNodes(cmd.Context(), cfg, version)
				if err != nil {
					return err
				}
				return c.printPlan(steps, nodes, expand)
			}
			applied, err := c.services.Migrate(cmd.Context(), cfg, app.MigrateOptions{Version: version, Expand: expand, Force: force})
			if err != nil {
				return err
			}
			return c.printMigrations(applied, upToDate)
		},
	})
	cmd.Flags().BoolVar(&plan, "plan", false, "show the steps, their locks and whether the old version can go on; change nothing")
	cmd.Flags().BoolVar(&expand, "expand", false, "leave out the last contract steps, so that the old version can go on")
	cmd.Flags().BoolVar(&force, "force", false, "apply contract steps although nodes of another version live; these nodes go out of service")
	return cmd
}

func (c nodeCommands) migrateStatus() *cobra.Command {
	return c.withConfig(&cobra.Command{
		Use:     "status",
		Short:   "Show which steps of the schema are applied; exit code 1 while some are pending, or this version cannot use the ledger",
		Example: "  tallyman migrate status --config site.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			steps, err := c.services.MigrateStatus(cmd.Context(), cfg)
			if err != nil && !errors.Is(err, ledger.ErrNewer) {
				return err
			}
			if err := errors.Join(c.printMigrations(steps, "The ledger has no steps."), err); err != nil {
				return err
			}
			if slices.ContainsFunc(steps, isPending) {
				return found()
			}
			return nil
		},
	})
}

func isPending(m ledger.Migration) bool { return m.Applied.IsZero() }

func (c nodeCommands) printMigrations(steps []ledger.Migration, none string) error {
	forms := make([]migrationForm, len(steps))
	rows := [][]string{{"VERSION", "NAME", "PHASE", "APPLIED"}}
	for i, s := range steps {
		forms[i] = formOf(s)
		name, applied := s.Name, "pending"
		if name == "" {
			name = "a newer version's"
		}
		if !isPending(s) {
			applied = s.Applied.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{strconv.FormatInt(s.Version, 10), name, s.Phase, applied})
	}
	return c.print(forms, func(w io.Writer) {
		if len(steps) == 0 {
			fmt.Fprintln(w, none)
			return
		}
		terminal.Columns(w, rows)
	})
}

func formOf(s ledger.Migration) migrationForm {
	form := migrationForm{Version: s.Version, Name: s.Name, Phase: s.Phase, Oldest: s.Oldest, Locks: s.Locks, Lasts: s.Lasts}
	if !isPending(s) {
		at := s.Applied.UTC()
		form.Applied = &at
	}
	return form
}

// printPlan prints the steps that a migration would apply, and the live nodes that run another version.
func (c nodeCommands) printPlan(steps []ledger.Migration, nodes []ledger.Node, expand bool) error {
	plan := planForm{OldVersion: "none", OtherNodes: []nodeForm{}, Steps: []migrationForm{}}
	for _, s := range steps {
		if !isPending(s) {
			plan.Schema = s.Version
		}
	}
	if plan.Schema > 0 {
		plan.OldVersion = "goes_on"
	}
	for i := range nodes {
		plan.OtherNodes = append(plan.OtherNodes, nodeForm{nodes[i].Name, nodes[i].Version})
	}
	rows := [][]string{{"VERSION", "NAME", "PHASE", "LOCKS", "LASTS"}}
	for _, s := range ledger.Pending(steps, expand) {
		if plan.Schema > 0 && !s.GoesOn(plan.Schema) {
			plan.OldVersion = "stops"
		}
		plan.Steps = append(plan.Steps, formOf(s))
		rows = append(rows, []string{strconv.FormatInt(s.Version, 10), s.Name, s.Phase, s.Locks, s.Lasts})
	}
	return c.print(plan, func(w io.Writer) {
		if len(plan.Steps) == 0 {
			fmt.Fprintln(w, upToDate)
			return
		}
		terminal.Columns(w, rows)
		switch plan.OldVersion {
		case "none":
			fmt.Fprintln(w, "No version uses the ledger yet.")
		case "goes_on":
			fmt.Fprintf(w, "Nodes of schema version %d can go on: replace them one at a time.\n", plan.Schema)
		default:
			fmt.Fprintf(w, "Version %d of the schema cannot go on: stop all of its nodes before the contract step.\n", plan.Schema)
		}
		for _, n := range plan.OtherNodes {
			fmt.Fprintf(w, "Node %s runs version %s of the program.\n", n.Name, n.Version)
		}
	})
}
