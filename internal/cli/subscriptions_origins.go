package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

func (c subscriptionCommands) origins() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "origins",
		Short:   "Show the sources of subscriptions, and the state of their lists",
		Example: "  tallyman subscriptions origins",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, "/subscriptions/origins", nil, func(w io.Writer, form *wire.OriginsForm) {
				writeOrigins(w, c.width(), form)
			})
		},
	})
}

func (c subscriptionCommands) confirm() *cobra.Command {
	var yes bool
	cmd := c.withServer(&cobra.Command{
		Use:   "confirm ORIGIN",
		Short: "Take a list of a source that removes more than half of its subscriptions",
		Long: `Take a waiting list of a source. A list waits if it removes more than half of the subscriptions. First the command shows what the list removes; then the
command asks.

The command takes exactly that list: if the source has given another list meanwhile, nothing is changed. If the list is wrong, correct the table of the WMS
instead; the next list of the source replaces the waiting list.`,
		Example: "  tallyman subscriptions confirm wms",
		Args:    takes("ORIGIN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := c.client().waitingList(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			writeWaitingList(c.Err, list)
			question := fmt.Sprintf("Remove %s of %s?", count(list.Removed, "subscription"), args[0])
			return c.confirmList(cmd, yes, question, originPath(args[0], "confirm"), list.Hash)
		},
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// confirmList asks the user, and confirms the shown list.
func (c *command) confirmList(cmd *cobra.Command, yes bool, question, path, hash string) error {
	if !yes {
		sure, err := terminal.NewPrompt(c.In, c.Err).Yes(question, false)
		if err != nil {
			return err
		}
		if !sure {
			return &exitError{ExitProblems, errors.New("nothing was changed")}
		}
	}
	return show(cmd.Context(), c, http.MethodPost, path, &wire.ConfirmListForm{Hash: hash}, func(w io.Writer, form *wire.ConfirmedListForm) {
		changed := ""
		if form.Changed > 0 {
			changed = fmt.Sprintf("changed %d, ", form.Changed)
		}
		fmt.Fprintf(w, "Added %d, %sremoved %d.\n", form.Added, changed, form.Removed)
	})
}

func (c subscriptionCommands) release() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "release ORIGIN",
		Short:   "Let people change the subscriptions of a source that the configuration does not name any more",
		Example: "  tallyman subscriptions release wms",
		Args:    takes("ORIGIN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodPost, originPath(args[0], "release"), nil, func(w io.Writer, form *wire.ReleasedForm) {
				fmt.Fprintf(w, "Released %s: they count as made by hand.\n", count(form.Released, "subscription"))
			})
		},
	})
}

func originPath(name, rest string) string {
	return "/subscriptions/origins/" + url.PathEscape(name) + "/" + rest
}

// waitingList returns the list of the source that waits for a confirmation.
func (c *client) waitingList(ctx context.Context, name string) (*wire.WaitingListForm, error) {
	var form wire.OriginsForm
	if err := c.do(ctx, http.MethodGet, "/subscriptions/origins", nil, &form); err != nil {
		return nil, err
	}
	for i := range form.Origins {
		switch o := &form.Origins[i]; {
		case o.Name != name:
		case o.Waits == nil:
			return nil, fmt.Errorf("no list of %s waits", name)
		default:
			return o.Waits, nil
		}
	}
	return nil, fmt.Errorf("no subscriptions come from a source %s; tallyman subscriptions origins shows the sources", name)
}

func writeOrigins(w io.Writer, width int, form *wire.OriginsForm) {
	if len(form.Origins) == 0 {
		fmt.Fprintln(w, "No subscriptions come from a source.")
		return
	}
	header := []string{"ORIGIN", "SUBSCRIPTIONS", "STATE", "LAST LIST"}
	rows := make([][]string, len(form.Origins))
	for i := range form.Origins {
		o := &form.Origins[i]
		rows[i] = []string{o.Name, strconv.Itoa(o.Subscriptions), originState(o), when(o.Answered)}
	}
	terminal.Spread(w, width, header, rows, header)
	for i := range form.Origins {
		o := &form.Origins[i]
		if o.Error != "" {
			terminal.Wrap(w, width, o.Name+" fails: ", terminal.OneLine(o.Error))
		}
		if o.Waits != nil {
			terminal.Wrap(w, width, o.Name+" waits: ", fmt.Sprintf("a list would remove %d of %d subscriptions; tallyman subscriptions confirm %s takes it", o.Waits.Removed, o.Subscriptions, o.Name))
		}
		if !o.Configured {
			terminal.Wrap(w, width, o.Name+" is orphaned: ", fmt.Sprintf("the configuration of the node does not name the source; tallyman subscriptions release %s lets people change its subscriptions", o.Name))
		}
	}
}

// originState returns the most serious state of a source.
func originState(o *wire.OriginForm) string {
	switch {
	case !o.Configured:
		return "orphaned"
	case o.Waits != nil:
		return "waits"
	case o.Error != "":
		return "fails"
	}
	return "ok"
}

func writeWaitingList(w io.Writer, list *wire.WaitingListForm) {
	fmt.Fprintf(w, "The list waits since %s. It adds %s and removes %d:\n", stamp(list.Since), count(list.Added, "subscription"), list.Removed)
	for _, s := range list.Removing {
		fmt.Fprintf(w, "  %s %s %s\n", s.Type, s.Warehouse, s.Subscriber)
	}
	if rest := list.Removed - len(list.Removing); rest > 0 {
		fmt.Fprintf(w, "  and %d more\n", rest)
	}
}
