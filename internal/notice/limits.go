package notice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The priorities.
const (
	LowestPriority  = 1
	HighestPriority = 5
	DefaultPriority = 3
)

// The limits of every notice.
const (
	MaxText   = 64 << 10 // bytes of a title, a body or a text in the data
	MaxLabels = 32
	MaxLabel  = 500 // characters of a label's text
	MaxName   = 64  // bytes of the name of a label
	MaxSinks  = 32  // sinks of one notice
)

// The limits of a notice that a business system sends, within the limits of every notice, and of the requests that
// send notices. The schema of the API takes its numbers from here. CheckSent and CheckRequest check the stored values
// again.
const (
	MaxTitle      = 500       // characters
	MaxBody       = 16 << 10  // characters; and at most MaxText bytes
	MaxLanguages  = 32        // translations
	MaxFieldText  = 16 << 10  // bytes of a text of the data
	MaxSize       = 256 << 10 // bytes of all texts of the notice
	MaxRecipients = 1000
	MinLife       = time.Second
	MaxLife       = 3650 * 24 * time.Hour

	MaxRequest           = 1000    // notices
	MaxRequestRecipients = 20_000  // in all notices of one request
	MaxRequestBytes      = 8 << 20 // bytes of the body of one request
)

// Fault is a violation of a limit. At is the path of the member in the JSON of the request, such as texts.zh.title.
type Fault struct{ At, Message string }

// CheckSent returns the limits that a sent notice violates, in the order of its members. It checks the values that
// will be stored. The caller has checked names and kinds before.
func CheckSent(n *Notice) []Fault {
	var c limitCheck
	size := c.texts("", Text{n.Title, n.Body})
	c.most("texts", len(n.Texts), MaxLanguages, "languages")
	for _, lang := range slices.Sorted(maps.Keys(n.Texts)) {
		size += len(lang) + c.texts("texts."+lang+".", n.Texts[lang])
	}
	for _, f := range n.Data {
		if text, ok := f.Value.(string); ok {
			size += len(f.Name) + len(text)
			c.most("data."+f.Name, len(text), MaxFieldText, "bytes")
		}
	}
	c.labels(n.Labels)
	if n.Priority < LowestPriority || n.Priority > HighestPriority {
		c.add("priority", "%d is not from %d to %d", n.Priority, LowestPriority, HighestPriority)
	}
	if life := n.ExpiresAt.Sub(n.CreatedAt); life < MinLife || life > MaxLife {
		c.add("expires", "a notice lives from 1s to 3650d")
	}
	if len(c.faults) == 0 {
		c.most("body", size, MaxSize, "bytes of texts")
	}
	return c.faults
}

// CheckLabels returns the limits that labels violate, in the order of their names.
func CheckLabels(labels map[string]string) []Fault {
	var c limitCheck
	c.labels(labels)
	return c.faults
}

// CheckRecipients returns a fault if a notice names too many recipients.
func CheckRecipients(n int) []Fault {
	var c limitCheck
	c.most("recipients", n, MaxRecipients, "recipients")
	return c.faults
}

// CheckRequest returns the limits that one request violates: its number of notices, and the number of recipients in
// all of them.
func CheckRequest(notices, recipients int) []Fault {
	var c limitCheck
	c.most("notices", notices, MaxRequest, "notices")
	c.most("notices", recipients, MaxRequestRecipients, "recipients in one request")
	return c.faults
}

// IsName tells whether a text can name a label or a warehouse: letters, digits, _ . and -, at most 64, starting with
// a letter or a digit.
func IsName(s string) bool {
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= MaxName
}

// limitCheck collects faults.
type limitCheck struct{ faults []Fault }

func (c *limitCheck) add(at, format string, args ...any) {
	c.faults = append(c.faults, Fault{at, fmt.Sprintf(format, args...)})
}

func (c *limitCheck) most(at string, n, limit int, what string) {
	if n > limit {
		c.add(at, "it has %d %s; at most %d are allowed", n, what, limit)
	}
}

// texts checks title and body, and returns how many bytes they have.
func (c *limitCheck) texts(at string, t Text) int {
	c.characters(at+"title", t.Title, MaxTitle)
	c.characters(at+"body", t.Body, MaxBody)
	return len(t.Title) + len(t.Body)
}

func (c *limitCheck) characters(at, text string, limit int) {
	if len(text) > limit { // a text never has more characters than bytes
		c.most(at, utf8.RuneCountInString(text), limit, "characters")
	}
}

func (c *limitCheck) labels(labels map[string]string) {
	c.most("labels", len(labels), MaxLabels, "labels")
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		at := "labels." + shortName(name)
		if !IsName(name) {
			c.add(at, "a label is named with letters, digits, _ . and -, at most %d, a letter or digit first", MaxName)
		}
		c.characters(at, labels[name], MaxLabel)
	}
}

// shortName cuts a long name, which a client may have made up, for the error.
func shortName(name string) string {
	if len(name) > MaxName {
		return strings.ToValidUTF8(name[:MaxName], "") + "…"
	}
	return name
}
