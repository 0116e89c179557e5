package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// mostChanges is the server's limit of changes in a page.
const mostChanges = 1000

// auditCommands are the commands about the audit.
type auditCommands struct{ *command }

func (c auditCommands) audit() *cobra.Command {
	return group("audit", "Who changed what, when, from what to what", c.list())
}

func (c auditCommands) list() *cobra.Command {
	flags := map[string]*string{}
	var limit int
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List changes, the latest first",
		Long: `List changes, the latest first. Each change has a record that nobody can change or remove: changes over the API, of rule files, of tokens in
the ledger itself, and at the start of a node. VIA says how the caller was authenticated. An object or action stands for all that begins with it: rule is
every rule, rule:a is rule a in all its scopes.`,
		Example: `  tallyman audit list --object rule:negative-bin-stock
  tallyman audit list --by user:ann --since 7d
  tallyman audit list --action token -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > mostChanges {
				return usage("%s: --limit takes 1 to %d", cmd.CommandPath(), mostChanges)
			}
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range flags {
				if *value != "" {
					query.Set(name, *value)
				}
			}
			return show(cmd.Context(), c.command, http.MethodGet, withQuery("/audit", query), nil, func(w io.Writer, page *wire.AuditForm) {
				writeAudit(w, c.width(), page)
			})
		},
	})
	for name, help := range map[string]string{
		"object": "what was changed, or how it begins: rule, rule:negative-bin-stock, queue:replenishment",
		"by":     "who changed it, such as user:ann", "action": "what was done, or how it begins: rule, rule.disable, token.create",
		"since": "changes since then: a time, or a span such as 7d", "after": "go on behind the page that ended with this cursor",
	} {
		flags[name] = cmd.Flags().String(name, "", help)
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many changes at most")
	return cmd
}

// writeAudit writes a line for each change.
func writeAudit(w io.Writer, width int, page *wire.AuditForm) {
	if len(page.Changes) == 0 {
		fmt.Fprintln(w, "No changes match.")
		return
	}
	header := []string{"AT", "BY", "ACTION", "OBJECT", "FROM", "TO", "REASON", "VIA"} // The most important columns come first.
	rows := make([][]string, len(page.Changes))
	for i := range page.Changes {
		s := &page.Changes[i]
		from, to := short(s.Before, s.After)
		rows[i] = []string{stamp(s.At), s.By, s.Action, s.Object, orDash(from), orDash(to), orDash(s.Reason), s.Via}
	}
	terminal.Spread(w, width, header, rows, []string{"AT", "ACTION", "OBJECT"})
	if page.Cursor != "" {
		fmt.Fprintf(w, "There are earlier changes: --after %s. The whole states are in -o json.\n", page.Cursor)
	}
}

// longestState is the longest text of a state in a table, in characters.
const longestState = 60

// toldElsewhere lists the members of a state that the table shows in other columns.
var toldElsewhere = []string{"at", "by", "reason", "rule", "scope", "id", "author", "comment"}

// short returns the differences between two states, as name=value. The member called state comes first.
func short(before, after wire.AuditState) (from, to string) {
	old, now := membersOf(before), membersOf(after)
	return shortened(old, now), shortened(now, old)
}

func shortened(list, other []string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(m string) bool { return slices.Contains(other, m) })
	if i := slices.IndexFunc(list, func(m string) bool { return strings.HasPrefix(m, "state=") }); i > 0 {
		list = slices.Concat(list[i:i+1], list[:i], list[i+1:])
	}
	text := []rune(strings.Join(list, " "))
	if len(text) > longestState {
		return string(text[:longestState]) + "…"
	}
	return string(text)
}

func membersOf(state wire.AuditState) []string {
	var v any
	if json.Unmarshal(state, &v) != nil {
		return nil
	}
	return members(v, "")
}

// members returns the values of a state as name=value. A list of objects becomes its name and the number of objects.
// members leaves out nulls, empty lists and the members in toldElsewhere.
func members(v any, name string) []string {
	switch x := v.(type) {
	case map[string]any:
		var list []string
		for _, member := range slices.Sorted(maps.Keys(x)) {
			if !slices.Contains(toldElsewhere, member) {
				list = append(list, members(x[member], member)...)
			}
		}
		return list
	case []any:
		if len(x) == 0 {
			return nil
		}
		if _, single := x[0].(map[string]any); !single {
			return []string{name + "=" + strings.Trim(fmt.Sprint(x), "[]")}
		}
		return []string{strings.TrimSpace(fmt.Sprintf("%s (%d)", name, len(x)))}
	case nil:
		return nil
	default:
		return []string{fmt.Sprintf("%s=%v", name, x)}
	}
}
