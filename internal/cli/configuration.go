package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tallyman/internal/config"
	"tallyman/rules/problem"
)

// configForm is the answer of config check.
type configForm struct {
	File     string       `json:"file"`
	Problems problem.List `json:"problems"`
}

func (c *command) configuration() *cobra.Command {
	check := c.withConfig(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration, with the environment and --set laid over it; reaches for nothing",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.loadConfig()
			form := configForm{File: c.config, Problems: problem.List{}}
			if form.File == "" {
				form.File = config.DefaultFile
			}
			if list, ok := asProblems(err); ok {
				form.Problems = list
			} else if err != nil {
				return err
			}
			err = c.print(form, func(w io.Writer) { writeConfigCheck(w, form, cfg) })
			if err == nil && len(form.Problems) > 0 {
				return found()
			}
			return err
		},
	})
	return group("config", "Check the configuration", check)
}

func writeConfigCheck(w io.Writer, form configForm, cfg *config.Config) {
	if len(form.Problems) > 0 {
		printProblems(w, form.Problems)
		fmt.Fprintf(w, "%s: %s\n", form.File, count(len(form.Problems), "problem"))
		return
	}
	redis := "the embedded Redis"
	if !cfg.Redis.Embedded() {
		redis = "Redis"
	}
	fmt.Fprintf(w, "%s is fine: %s, %s, a ledger in %s, %s, listening on %s\n", form.File,
		count(len(cfg.Sources), "source"), count(len(cfg.Sinks), "sink"), cfg.Ledger.Driver, redis, cfg.HTTP.Listen)
}
