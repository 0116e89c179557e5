package api

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/item"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// limit is how many things a page may have: 1 to the most that B says. The library reads it as text, so that a bad one gets the code that
// it has everywhere.
type limit[B pageBounds] string

// pageBounds says how many things a page has at most, and where nobody asks.
type pageBounds interface{ bounds() (most, preset int) }

// The pages of each kind of list.
type (
	ofList     struct{}
	ofSearch   struct{}
	ofItems    struct{}
	ofRules    struct{}
	ofRuns     struct{}
	ofFindings struct{}
)

func (ofList) bounds() (most, preset int)     { return maxSubscriptions, defaultSubscriptions }
func (ofSearch) bounds() (most, preset int)   { return maxFound, defaultFound }
func (ofItems) bounds() (most, preset int)    { return item.MaxBatch, defaultItems }
func (ofRules) bounds() (most, preset int)    { return 2000, 100 }
func (ofRuns) bounds() (most, preset int)     { return 1000, 50 }
func (ofFindings) bounds() (most, preset int) { return 10_000, 100 }

// Schema says what the text has to be.
func (limit[B]) Schema(huma.Registry) *huma.Schema {
	var b B
	most, preset := b.bounds()
	return integer(1, float64(most), preset)
}

// parse reads it; "" is the preset.
func (l limit[B]) parse() (int, *wire.Problem) {
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
