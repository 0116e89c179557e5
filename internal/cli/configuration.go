package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/rules/problem"
)

// configForm is the answer of config check.
type configForm struct {
	File     string       `json:"file"`
	Problems []diagnostic `json:"problems"`
}

func (c *command) configuration() *cobra.Command {
	check := c.withConfig(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration, with the environment and --set laid over it; reaches for nothing",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.loadConfig()
			form := configForm{File: c.config}
			if form.File == "" {
				form.File = config.DefaultFile
			}
			list, ok := asProblems(err)
			if err != nil && !ok {
				return err
			}
			if err == nil {
				if err := errors.Join(app.CheckChannels(cfg), app.CheckTLS(cfg)); err != nil {
					return err
				}
			}
			form.Problems = diagnostics(list, nil)
			err = c.print(form, func(w io.Writer) { writeConfigCheck(w, form.File, list, cfg) })
			if err == nil && len(list) > 0 {
				return found()
			}
			return err
		},
	})
	return group("config", "Check the configuration", check)
}

func writeConfigCheck(w io.Writer, file string, problems problem.List, cfg *config.Config) {
	if len(problems) > 0 {
		printProblems(w, problems)
		fmt.Fprintf(w, "%s: %s\n", file, count(len(problems), "problem"))
		return
	}
	redis := "the embedded Redis"
	if !cfg.Redis.Embedded() {
		redis = "Redis"
	}
	fmt.Fprintf(w, "%s is fine: %s, %s, a ledger in %s, %s, listening on %s://%s\n", file,
		count(len(cfg.Sources), "source"), count(len(cfg.Sinks), "sink"), cfg.Ledger.Driver, redis, cfg.HTTP.Scheme(), cfg.HTTP.Listen)
}
