package ruletest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// cell is a value as it is written. A text may be read in another way as well: YAML has no decimals that keep their digits, so people
// write "-3", and a time in quotes is a text to YAML.
type cell struct {
	node  *strictyaml.Node
	value row.Value // as it stands
	other row.Value // the other reading of a text; NULL where there is none
}

// fault says why a value is none.
type cellFault struct{ message, hint string }

var (
	numeral = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`) // 007 is the name of something
	integer = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
)

// read makes a cell of a node.
func read(n *strictyaml.Node) (cell, *cellFault) {
	c := cell{node: n}
	if n.Kind != strictyaml.Scalar {
		text, err := json.Marshal(plain(n))
		if err != nil {
			return c, &cellFault{"this cannot be JSON: " + err.Error(), ""}
		}
		c.value = row.JSONOf(string(text))
		return c, nil
	}
	switch n.Tag {
	case "!!null":
	case "!!bool":
		c.value = row.BoolOf(strings.EqualFold(n.Text, "true"))
	case "!!int":
		i, err := strconv.ParseInt(n.Text, 10, 64)
		if err != nil || !integer.MatchString(n.Text) {
			return c, &cellFault{n.Text + " is no plain whole number", "write it in quotes"}
		}
		c.value = row.IntOf(i)
	case "!!float":
		v, err := row.ParseDecimal(n.Text)
		if err != nil {
			return c, &cellFault{n.Text + " is no plain number", "write it in quotes"}
		}
		c.value = v
	case "!!timestamp":
		v, ok := instant(n.Text)
		if !ok {
			return c, &cellFault{fmt.Sprintf("%q is no time", n.Text), "as 2026-06-01T08:00:00Z"}
		}
		c.value = v
	default:
		c.value = row.TextOf(n.Text)
		if numeral.MatchString(n.Text) {
			c.other, _ = row.ParseDecimal(n.Text) // it is one
		} else if v, ok := instant(n.Text); ok {
			c.other = v
		}
	}
	return c, nil
}

// plain is a node as JSON has it; numbers keep their digits.
func plain(n *strictyaml.Node) any { return n.Tree(plainScalar) }

func plainScalar(n *strictyaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Text, "true")
	case "!!int", "!!float":
		return json.Number(n.Text)
	}
	return n.Text
}

// instants are the ways to write a time. One without an offset is in UTC, as a timestamp without zone of a database.
var instants = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// instant reads a Time, or a Date where there is no time of day.
func instant(s string) (row.Value, bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return row.DateOf(t), true
	}
	for _, layout := range instants {
		if t, err := time.Parse(layout, s); err == nil {
			return row.TimeOf(t), true
		}
	}
	return row.Value{}, false
}

// as is the cell as a value of a column of that kind.
func (c cell) as(kind row.Kind) (row.Value, *cellFault) {
	have := c.value.Kind()
	if have == row.Null || have == kind || kind == row.Null {
		return c.value, nil
	}
	text := c.value.String()
	switch kind {
	case row.Decimal:
		if have == row.Int || have == row.Text {
			if v, err := row.ParseDecimal(text); err == nil {
				return v, nil
			}
		}
	case row.Int:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && have == row.Text {
			return row.IntOf(i), nil
		}
	case row.Float:
		if f, err := strconv.ParseFloat(text, 64); err == nil && have != row.Bool {
			return row.FloatOf(f), nil
		}
	case row.Time, row.Date:
		if v, ok := instant(text); ok && (have == row.Text || have == row.Date || have == row.Time) {
			if kind == row.Time {
				return row.TimeOf(v.Time()), nil
			}
			return row.DateOf(v.Time()), nil
		}
	case row.Duration:
		if d, err := strictyaml.ParseDuration(text); err == nil && have == row.Text {
			return row.DurationOf(d), nil
		}
	case row.Bytes:
		if raw, err := hex.DecodeString(text); err == nil && have == row.Text {
			return row.BytesOf(string(raw)), nil
		}
	case row.JSON:
		return row.JSONOf(c.json()), nil
	case row.Text:
		if have == row.Time || have == row.Date {
			return row.TextOf(c.node.Text), nil
		}
		return row.Value{}, &cellFault{fmt.Sprintf("%s is a value of kind %s, the column is text", text, have), fmt.Sprintf("write %q", text)}
	case row.Null, row.Bool:
	}
	return row.Value{}, &cellFault{fmt.Sprintf("%s is a value of kind %s, the column is %s", text, have, kind), kindHints[kind]}
}

// json is the cell's text for a JSON column: a text that is JSON stands for what it says.
func (c cell) json() string {
	if text := c.node.Text; c.value.Kind() == row.Text && json.Valid([]byte(text)) {
		return text
	}
	text, err := json.Marshal(plain(c.node))
	if err != nil { // read has made a value of it
		return "null"
	}
	return string(text)
}

var kindHints = map[row.Kind]string{
	row.Bool: "write true or false", row.Int: "write a whole number", row.Float: "write a number", row.Decimal: `write a number, as "-3.50"`,
	row.Time: "as 2026-06-01T08:00:00Z", row.Date: "as 2026-06-01", row.Duration: "as 1h30m", row.Bytes: "write the bytes in hex, as 01ff",
}

// kindOf finds a kind by the name that messages use.
func kindOf(name string) (row.Kind, bool) {
	for k := row.Bool; k <= row.JSON; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return row.Null, false
}

func kindNames() []string {
	var names []string
	for k := row.Bool; k <= row.JSON; k++ {
		names = append(names, k.String())
	}
	return names
}
