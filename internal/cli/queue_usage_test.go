package cli

import (
	"strings"
	"testing"
)

// TestQueueWrongUsage has command lines that are refused before anything is asked.
func TestQueueWrongUsage(t *testing.T) {
	t.Parallel()
	url, _ := server(t)
	for line, want := range map[string]string{
		"list a b":                              "accepts at most 1 arg",
		"list --state dead":                     "--state, --warehouse, --limit and --after list the items of a queue: name it",
		"list q --limit -1":                     "--limit takes the number of items to list",
		"show":                                  "takes QUEUE: QUEUE is missing",
		"show q i x":                            "nothing behind",
		"peek q --max 0":                        "--max takes",
		"rank q":                                "ITEM is missing",
		"push q":                                "takes an item with --payload, or a file of items",
		"push":                                  "takes QUEUE",
		"push q file --payload 1":               "takes --payload or a file, and not both",
		"push q file --id x":                    "the items of a file have their own id",
		"push q no-such-file":                   "no such file",
		"push q --payload @no-such-file":        "no such file",
		"push q --payload A-01":                 "--payload is no JSON value",
		"push q --payload 1 --priority 0":       "--priority takes 1 to 5",
		"push q --payload 1 --delay 5":          "5 has no unit: add s, m, h or d",
		"lease q":                               "takes --worker: who asks",
		"lease q --worker w --max 0":            "--max takes 1 to 1000",
		"lease q --worker w --wait soon":        "invalid argument",
		"ack q i":                               "takes --attempt: the number that came with the lease",
		"ack q i --attempt 0":                   "--attempt takes a number from 1 on",
		"ack q i j --attempt 1":                 "nothing behind",
		"suspend q i j --attempt 1":             "--attempt is that of one item, and there are 2",
		"finish q":                              "ITEM is missing",
		"finish q i --attempt 1":                "unknown flag: --attempt",
		"store q i":                             "say for how long",
		"store q i --days 1 --delay 2h":         "say for how long",
		"assign q i":                            "say who gets them",
		"assign q i --anybody --worker w":       "say who gets them",
		"remove q":                              "ITEM is missing",
		"remove q i --state dead":               "nothing behind",
		"remove q --state dead":                 "a range takes --state, --from and --to",
		"remove q --from 2 --to 1 --state dead": "a range takes",
		"remove q --from 1 --to 2 --state dead --force": "--force and --note are of items that are named",
		"requeue q":                "ITEM is missing",
		"requeue q i --all":        "nothing behind",
		"requeue q --all --note x": "--note is of items that are named",
		"pause":                    "QUEUE is missing",
		"psh q":                    `did you mean "push"?`,
		"":                         "needs a command: ",
	} {
		code, _, errOut := run(t, url, "", append([]string{"queue"}, strings.Fields(line)...)...)
		if code != ExitUsage || !strings.Contains(errOut, want) || !strings.Contains(errOut, "--help") {
			t.Errorf("%s: exit code %d, %s", line, code, errOut)
		}
	}
}
