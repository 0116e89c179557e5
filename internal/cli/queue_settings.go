package cli

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

// The words that the flags of settings take in addition to values.
const (
	noneFlag       = "none"
	configuredFlag = "configured"
)

// settingsFlags are the flags of queue settings. An empty flag leaves the setting as it is.
type settingsFlags struct {
	lease, maxAttempts, suspendSteps string
	reset                            bool
}

func (c queueCommands) settings() *cobra.Command {
	var f settingsFlags
	cmd := c.withServer(&cobra.Command{
		Use:   "settings QUEUE",
		Short: "Show or change the settings of a running queue",
		Long: `Show the settings of a queue, or change them while the queue runs. A change is in force on every node within a second, for the queue and its test twin. The
change replaces the value of the configuration until you reset it.

Items keep their state. A leased item keeps its lease, and an item that is put off keeps its time. Earlier failures of an item count against the new max_attempts,
and earlier suspends against the new suspend_steps.`,
		Example: `  tallyman queue settings replenishment
  tallyman queue settings replenishment --lease 2m --max-attempts none
  tallyman queue settings replenishment --suspend-steps 30m,2h,1d
  tallyman queue settings replenishment --lease configured
  tallyman queue settings replenishment --reset`,
		Args: takes("QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := queuePath(args[0], "settings")
			if !anyFlag(cmd, "lease", "max-attempts", "suspend-steps", "reset") {
				return show(cmd.Context(), c.command, http.MethodGet, path, nil, func(w io.Writer, form *wire.QueueSettingsForm) { c.writeLive(w, form) })
			}
			ask, err := f.ask()
			if err != nil {
				return err
			}
			return show(cmd.Context(), c.command, http.MethodPost, path, ask, func(w io.Writer, form *wire.QueueSettingsForm) { c.writeLive(w, form) })
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.lease, "lease", "", "how long a lease lasts, such as 2m; configured = the value of the configuration")
	flags.StringVar(&f.maxAttempts, "max-attempts", "", "failures after which an item is dead; none = never; configured = the value of the configuration")
	flags.StringVar(&f.suspendSteps, "suspend-steps", "", "the first and further suspends of an item, such as 2h,12h; none = no suspends; configured = the value of the configuration")
	flags.BoolVar(&f.reset, "reset", false, "all settings that no other flag sets get the value of the configuration")
	return cmd
}

// ask returns the change that the flags describe.
func (f *settingsFlags) ask() (*wire.SettingsAsk, error) {
	ask := &wire.SettingsAsk{}
	reset := func(name, value string) bool {
		if value == configuredFlag || value == "" && f.reset {
			ask.Reset = append(ask.Reset, name)
		}
		return value == configuredFlag || value == ""
	}
	if !reset(item.LeaseSetting, f.lease) {
		ask.Lease = &f.lease
	}
	if !reset(item.MaxAttemptsSetting, f.maxAttempts) {
		most, err := strconv.Atoi(f.maxAttempts)
		switch {
		case f.maxAttempts == noneFlag:
			most = item.NoLimit
		case err != nil || most < 1:
			return nil, usage("--max-attempts takes a number from 1 on, none or configured, and got %q", f.maxAttempts)
		}
		ask.MaxAttempts = &most
	}
	if !reset(item.SuspendStepsSetting, f.suspendSteps) {
		ask.SuspendSteps = []string{}
		if f.suspendSteps != noneFlag {
			for step := range strings.SplitSeq(f.suspendSteps, ",") {
				ask.SuspendSteps = append(ask.SuspendSteps, strings.TrimSpace(step))
			}
		}
	}
	return ask, nil
}

// writeLive writes the settings that can change while the queue runs, each with its origin.
func (c queueCommands) writeLive(w io.Writer, q *wire.QueueSettingsForm) {
	fmt.Fprintln(w, q.Queue)
	in, configured := settingTexts(&q.InForce), settingTexts(&q.Configured)
	rows := make([][]string, len(in))
	for i, name := range item.SettingNames() {
		from := "the configuration"
		if slices.Contains(q.Live, name) {
			from = "set live; the configuration has " + configured[i].text
		}
		rows[i] = []string{in[i].name, in[i].text, from}
	}
	terminal.Grid(w, c.width(), "  ", []string{"SETTING", "IN FORCE", "FROM"}, rows)
	if q.At != nil {
		fmt.Fprintf(w, "Changed last %s, by %s.\n", stamp(*q.At), q.By)
	}
}

// settingText is a setting for people, with its name in the configuration.
type settingText struct{ name, text string }

// settingTexts returns the settings that can change while a queue runs, in the order of item.SettingNames.
func settingTexts(s *wire.SettingsForm) []settingText {
	most, steps := noneFlag, noneFlag
	if s.MaxAttempts != item.NoLimit {
		most = strconv.Itoa(s.MaxAttempts)
	}
	if len(s.SuspendSteps) > 0 {
		steps = strings.Join(s.SuspendSteps, ", ")
	}
	return []settingText{{"lease", s.Lease}, {"max_attempts", most}, {"suspend_steps", steps}}
}
