package cli

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/rules/strictyaml"
)

func (c *command) queue() *cobra.Command {
	return group("queue", "Work queues: look into them, and do what workers and operators do",
		c.queueList(), c.queueShow(), c.queuePeek(), c.queueRank(),
		c.queuePush(), c.queueLease(),
		c.queueAck(), c.queueNack(), c.queueRelease(), c.queueExtend(), c.queueSuspend(), c.queueStore(),
		c.queueFinish(), c.queueAssign(), c.queueRemove(), c.queueRequeue(),
		c.queuePause(), c.queueResume(),
	)
}

// withTwin adds the flags of commands that work on a queue.
func (c *command) withTwin(cmd *cobra.Command, test *bool) *cobra.Command {
	cmd.Flags().BoolVar(test, "test", false, "work on the queue's test twin")
	return c.withServer(cmd)
}

// queuePath is a path below a queue, or that of the queue itself.
func queuePath(queue string, parts ...string) string {
	segments := []string{"/queues", url.PathEscape(queue)}
	for _, p := range parts {
		segments = append(segments, url.PathEscape(p))
	}
	return strings.Join(segments, "/")
}

// twinQuery is the query of what is asked of a queue or of its test twin.
func twinQuery(test bool) url.Values {
	query := url.Values{}
	if test {
		query.Set("test", "true")
	}
	return query
}

// withQuery puts a query behind a path.
func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// takesItems refuses anything but a queue and one item or several.
func takesItems(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return takes("QUEUE", "ITEM")(cmd, args)
	}
	return nil
}

// span is the text of a flag that is a duration, as the API takes it.
type span string

// Set keeps the text where it is a duration.
func (s *span) Set(text string) error {
	_, err := strictyaml.ParseDuration(text)
	if err == nil {
		*s = span(text)
	}
	return err
}

// String is the text.
func (s *span) String() string { return string(*s) }

// Type is how the help names it.
func (s *span) Type() string { return "duration" }

// named says which queue is meant, for people.
func named(queue string, test bool) string {
	if test {
		return queue + " (test twin)"
	}
	return queue
}
