package cli

import (
	"strings"
	"testing"
)

func results(list ...string) reply {
	return reply{200, `{"results":[` + strings.Join(list, ",") + `],"items":[]}`}
}

func TestQueueOperations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		answer string
		body   string
		out    string
	}{
		{
			args:   []string{"ack", "q", "i_a", "--attempt", "2", "--worker", "w"},
			answer: `{"op":"ack","id":"i_a","outcome":"ok","state":"done"}`,
			body:   `{"worker":"w","ops":[{"op":"ack","id":"i_a","attempt":2}]}`, out: "i_a is done.\n",
		},
		{
			args:   []string{"nack", "q", "i_a", "--attempt", "2", "--delay", "10m", "--note", "blocked"},
			answer: `{"op":"nack","id":"i_a","outcome":"ok","state":"delayed","due":"2026-06-01T00:10:00Z"}`,
			body:   `{"ops":[{"op":"nack","id":"i_a","attempt":2,"delay":"10m","note":"blocked"}]}`, out: "i_a is delayed until 2026-06-01 00:10:00Z.\n",
		},
		{
			args:   []string{"nack", "q", "i_a", "--attempt", "2"},
			answer: `{"op":"nack","id":"i_a","outcome":"ok","state":"dead","due":"2026-06-01T00:10:00Z"}`,
			body:   `{"ops":[{"op":"nack","id":"i_a","attempt":2}]}`, out: "i_a is dead.\n",
		},
		{
			args:   []string{"release", "q", "i_a", "--attempt", "2", "--test"},
			answer: `{"op":"release","id":"i_a","outcome":"ok","state":"ready"}`,
			body:   `{"ops":[{"op":"release","id":"i_a","attempt":2}],"test":true}`, out: "i_a is ready.\n",
		},
		{
			args:   []string{"extend", "q", "i_a", "--attempt", "2", "--lease", "5m"},
			answer: `{"op":"extend","id":"i_a","outcome":"ok","state":"leased","due":"2026-06-01T00:10:00Z"}`,
			body:   `{"ops":[{"op":"extend","id":"i_a","attempt":2,"lease":"5m"}]}`, out: "i_a is leased until 2026-06-01 00:10:00Z.\n",
		},
		{
			args:   []string{"suspend", "q", "i_a", "i_b"},
			answer: `{"op":"suspend","id":"i_a","outcome":"ok","state":"suspended","due":"2026-06-01T00:10:00Z"},{"op":"suspend","id":"i_b","outcome":"ok","state":"suspended"}`,
			body:   `{"ops":[{"op":"suspend","id":"i_a"},{"op":"suspend","id":"i_b"}]}`, out: "i_a is suspended until 2026-06-01 00:10:00Z.\ni_b is suspended.\n",
		},
		{
			args: []string{"store", "q", "i_a", "--days", "3", "--attempt", "1"}, answer: `{"op":"store","id":"i_a","outcome":"ok","state":"stored","due":"2026-06-01T00:10:00Z"}`,
			body: `{"ops":[{"op":"store","id":"i_a","attempt":1,"days":3}]}`, out: "i_a is stored until 2026-06-01 00:10:00Z.\n",
		},
		{
			args: []string{"store", "q", "i_a", "--delay", "36h"}, answer: `{"op":"store","id":"i_a","outcome":"ok","state":"stored"}`,
			body: `{"ops":[{"op":"store","id":"i_a","delay":"36h"}]}`, out: "i_a is stored.\n",
		},
		{
			args: []string{"finish", "q", "i_a"}, answer: `{"op":"finish","id":"i_a","outcome":"ok","state":"done"}`,
			body: `{"ops":[{"op":"finish","id":"i_a"}]}`, out: "i_a is done.\n",
		},
		{
			args: []string{"assign", "q", "i_a", "--worker", "anna"}, answer: `{"op":"assign","id":"i_a","outcome":"ok","state":"ready"}`,
			body: `{"ops":[{"op":"assign","id":"i_a","worker":"anna"}]}`, out: "i_a is ready, only for anna.\n",
		},
		{
			args: []string{"assign", "q", "i_a", "--attempt", "2", "--worker", "anna"}, answer: `{"op":"assign","id":"i_a","outcome":"ok","state":"ready"}`,
			body: `{"ops":[{"op":"assign","id":"i_a","attempt":2,"worker":"anna"}]}`, out: "i_a is ready, only for anna.\n",
		},
		{
			args: []string{"assign", "q", "i_a", "--anybody"}, answer: `{"op":"assign","id":"i_a","outcome":"ok","state":"ready"}`,
			body: `{"ops":[{"op":"assign","id":"i_a","worker":""}]}`, out: "i_a is ready, for anybody.\n",
		},
		{
			args: []string{"remove", "q", "i_a", "--force"}, answer: `{"op":"remove","id":"i_a","outcome":"ok","state":"removed"}`,
			body: `{"ops":[{"op":"remove","id":"i_a","force":true}]}`, out: "i_a is removed.\n",
		},
		{
			args: []string{"requeue", "q", "i_a"}, answer: `{"op":"requeue","id":"i_a","outcome":"ok","state":"ready"}`,
			body: `{"ops":[{"op":"requeue","id":"i_a"}]}`, out: "i_a is ready.\n",
		},
		{
			args: []string{"set", "q", "i_a", "--priority", "5"}, answer: `{"op":"set","id":"i_a","outcome":"ok","state":"ready"}`,
			body: `{"ops":[{"op":"set","id":"i_a","priority":5}]}`, out: "i_a is ready, of priority 5.\n",
		},
		{
			args: []string{"set", "q", "i_a", "--order", "7.5", "--priority", "1"}, answer: `{"op":"set","id":"i_a","outcome":"ok","state":"stored","due":"2026-06-01T00:10:00Z"}`,
			body: `{"ops":[{"op":"set","id":"i_a","priority":1,"order":"7.5"}]}`, out: "i_a is stored until 2026-06-01 00:10:00Z, of priority 1, of order 7.5.\n",
		},
		{
			args: []string{"set", "q", "i_a", "--order", "none"}, answer: `{"op":"set","id":"i_a","outcome":"ok","state":"ready"}`,
			body: `{"ops":[{"op":"set","id":"i_a","order":""}]}`, out: "i_a is ready, of order none.\n",
		},
	} {
		url, calls := server(t, results(c.answer))
		code, out, errOut := run(t, url, "", append([]string{"queue"}, c.args...)...)
		if code != ExitFine || out != c.out || errOut != "" {
			t.Errorf("%v: exit code %d, %q, %s", c.args, code, out, errOut)
		}
		if want := (serverCall{"POST", "/api/v1/queues/q/step", c.body}); (*calls)[0] != want {
			t.Errorf("%v: sent %v", c.args, (*calls)[0])
		}
	}
}

func TestQueueOperationsRefused(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]string{
		"lease_lost":     "attempt 2 is over, or belongs to another subject: the lease has run out, or the item has moved on or ended",
		"item_not_found": "the queue has no such item, or it has ended",
		"item_leased":    "a worker has leased the item",
		"suspend_limit":  "it was suspended as often as the queue allows; store or finish it",
		"item_dead":      "it is dead; requeue or remove it",
		"item_not_dead":  "it is not dead",
		"of_tomorrow":    "nothing was changed",
	} {
		url, _ := server(t, results(`{"op":"suspend","id":"i_a","outcome":"`+outcome+`"}`), results(`{"op":"suspend","id":"i_a","outcome":"`+outcome+`"}`))
		code, out, _ := run(t, url, "", "queue", "suspend", "q", "i_a", "--attempt", "2")
		if code != ExitProblems || out != "i_a: "+outcome+": "+want+"\n" {
			t.Errorf("%s: exit code %d, %s", outcome, code, out)
		}
		if code, out, _ := run(t, url, "", "queue", "suspend", "q", "i_a", "--attempt", "2", "-o", "yaml"); code != ExitProblems ||
			out != "results:\n  - op: suspend\n    id: i_a\n    outcome: "+outcome+"\n" {
			t.Errorf("%s: exit code %d, %s", outcome, code, out)
		}
	}
}

func TestQueueOperationsOfManyItems(t *testing.T) {
	t.Parallel()
	var ids, done []string
	for range opsPerRequest + 1 {
		ids, done = append(ids, "i"), append(done, `{"op":"finish","id":"i","outcome":"ok","state":"done"}`)
	}
	url, calls := server(t, results(done[1:]...), results(done[0]))
	code, out, _ := run(t, url, "", append([]string{"queue", "finish", "q"}, ids...)...)
	if code != ExitFine || strings.Count(out, "i is done.\n") != len(ids) || strings.Count((*calls)[0].body, "finish") != opsPerRequest {
		t.Errorf("exit code %d, %d results, %d requests", code, strings.Count(out, "\n"), len(*calls))
	}
}

func TestQueueRanges(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, `{"removed":100}`}, reply{200, `{"requeued":1}`})
	if code, out, _ := run(t, url, "", "queue", "remove", "q", "--state", "dead", "--from", "1", "--to", "100", "--test"); code != ExitFine || out != "Removed 100 items.\n" {
		t.Errorf("remove: exit code %d, %s", code, out)
	}
	if code, out, _ := run(t, url, "", "queue", "requeue", "q", "--all"); code != ExitFine || out != "Requeued 1 item.\n" {
		t.Errorf("requeue: exit code %d, %s", code, out)
	}
	want := []serverCall{
		{"POST", "/api/v1/queues/q/remove", `{"state":"dead","from":1,"to":100,"test":true}`},
		{"POST", "/api/v1/queues/q/requeue", `{"all":true}`},
	}
	if (*calls)[0] != want[0] || (*calls)[1] != want[1] {
		t.Errorf("sent %v", *calls)
	}
}

func TestQueuePauseAndResume(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, `{"name":"q","test":true,"paused":true}`}, reply{200, `{"name":"q"}`})
	if code, out, _ := run(t, url, "", "queue", "pause", "q", "--test"); code != ExitFine || out != "q (test twin) is paused.\n" {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out, _ := run(t, url, "", "queue", "resume", "q"); code != ExitFine || out != "q gives out items.\n" {
		t.Errorf("exit code %d, %s", code, out)
	}
	if (*calls)[0] != (serverCall{"POST", "/api/v1/queues/q/pause", `{"test":true}`}) || (*calls)[1] != (serverCall{"POST", "/api/v1/queues/q/resume", `{}`}) {
		t.Errorf("sent %v", *calls)
	}
}
