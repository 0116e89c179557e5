// Package item is what a queue holds, for those who do not hold it: the ledger, the API, the command line.
package item

import "fmt"

// State is where an item is in its life.
type State string

// The states. The last three are ends: an item never leaves them.
const (
	Ready     State = "ready"     // waits for a worker
	Leased    State = "leased"    // a worker has it, until its lease ends
	Delayed   State = "delayed"   // becomes ready at its due time: pushed or put back with a delay
	Suspended State = "suspended" // put off by a worker for one of the queue's suspend_steps
	Stored    State = "stored"    // put away for days
	Dead      State = "dead"      // failed max_attempts times; kept until it is requeued or removed
	Done      State = "done"      // acked by its worker, or finished by an operator
	Removed   State = "removed"   // taken out by an operator, or because what it was made of has resolved
	Refused   State = "refused"   // never came in: another item held its dedupe key
)

// letters are the states as Redis and the trace have them.
var letters = map[State]byte{
	Ready: 'r', Leased: 'l', Delayed: 'y', Suspended: 's', Stored: 't', Dead: 'x', Done: 'd', Removed: 'm', Refused: 'f',
}

// Letter is the state in one character, as Redis and the trace have it: - before the first.
func (s State) Letter() string {
	if l, ok := letters[s]; ok {
		return string(l)
	}
	return "-"
}

// Ended tells whether an item in the state is finished for good.
func (s State) Ended() bool { return s == Done || s == Removed || s == Refused }

// Valid tells whether there is such a state.
func (s State) Valid() bool { return letters[s] != 0 }

// FromLetter returns the state that the letter stands for; "-" is "", the state before the first.
func FromLetter(letter string) (State, error) {
	if letter == "-" {
		return "", nil
	}
	for s, l := range letters {
		if letter == string(l) {
			return s, nil
		}
	}
	return "", fmt.Errorf("item: %q is no state", letter)
}
