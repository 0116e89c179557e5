package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/item"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// Limit is how many things a page may have: 1 to the most that B says. The library reads it as text, so that a bad one gets the code that
// it has everywhere.
type Limit[B pageBounds] string

// pageBounds says how many things a page has at most, and where nobody asks.
type pageBounds interface{ bounds() (most, preset int) }

// The kinds of lists.
type (
	// OfList is a list of what a site has few of, such as subscriptions.
	OfList struct{}
	// OfSearch is a search of notices.
	OfSearch struct{}
	// OfItems is a list of a queue's items.
	OfItems struct{}
	// OfRules is a list of rules.
	OfRules struct{}
	// OfRuns is a list of a rule's runs.
	OfRuns struct{}
	// OfFindings is a list of a rule's open findings.
	OfFindings struct{}
)

func (OfList) bounds() (most, preset int)     { return maxListed, defaultListed }
func (OfSearch) bounds() (most, preset int)   { return maxFound, defaultFound }
func (OfItems) bounds() (most, preset int)    { return item.MaxBatch, DefaultItems }
func (OfRules) bounds() (most, preset int)    { return 2000, 100 }
func (OfRuns) bounds() (most, preset int)     { return 1000, 50 }
func (OfFindings) bounds() (most, preset int) { return 10_000, 100 }

// Schema says what the text has to be.
func (Limit[B]) Schema(huma.Registry) *huma.Schema {
	var b B
	most, preset := b.bounds()
	return IntegerSchema(1, float64(most), preset)
}

// Parse reads the limit; without one it is the preset of the list.
func (l Limit[B]) Parse() (int, *wire.Problem) {
	var b B
	most, preset := b.bounds()
	if l == "" {
		return preset, nil
	}
	n, err := strconv.Atoi(string(l))
	if err != nil || n < 1 || n > most {
		return 0, wire.NewProblem(http.StatusBadRequest, wire.CodeBadLimit, "limit "+policy.Quote(string(l))+" is not a number from 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

// The sizes of lists: what a page has where nothing is said, and at most.
const (
	defaultListed, maxListed = 100, 1000
	defaultFound, maxFound   = 50, 200
	DefaultItems             = 100
)

// The bounds of what clients say and wait for.
const (
	MaxReason   = 200              // characters of why something is changed
	MaxWait     = time.Minute      // that a client may ask for
	LongestHold = 54 * time.Second // that an answer is held back, whatever was asked for: a second later it is written, 5 s before proxies give up
)
