package request

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
)

// Success says how an answer tells that a call succeeded. Its status counts as well.
type Success struct {
	Code string `yaml:"code" doc:"where the answer has its code: names of members of its JSON, or of elements of its XML, with dots between"`
	OK   Codes  `yaml:"ok" doc:"the codes of a success; an empty text is an answer without a code"`
}

// Answer says what the codes of an answer mean.
type Answer struct {
	Success `yaml:",inline"`

	Refused Codes `yaml:"refused" doc:"codes of a permanent error: the delivery fails, without another attempt"`
	Renew   Codes `yaml:"renew" doc:"codes of a refused token: a new token is fetched, and the call is made once more"`
}

// CheckAt reports faults in the settings code, ok, refused and renew.
func (a *Answer) CheckAt(at settings.Section) {
	switch {
	case a.Code == "" && len(a.OK)+len(a.Refused)+len(a.Renew) > 0:
		at.Missing("code")
	case a.Code != "" && len(a.OK) == 0:
		at.Missing("ok")
	}
}

// Codes are codes as texts, so that 0 and "0" are the same.
type Codes []string

// Takes says what codes may be.
func (c Codes) Takes() string { return "a code, or a list of them" }

// DecodeYAML reads a list of codes, or one.
func (c *Codes) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	items := n.Items
	if n.Kind != strictyaml.Sequence {
		items = []*strictyaml.Node{n}
	}
	for _, item := range items {
		if code, ok := d.Setting(name, item, c.Takes()); ok {
			*c = append(*c, code)
		}
	}
}

// Meaning is the meaning of a code.
type Meaning uint8

// The meanings.
const (
	Unknown Meaning = iota // no rule fits; the status decides
	Taken
	Refused
	Renew
	Failed // not a success now, but a later call may succeed
)

// Read returns the code of an answer and its meaning. The meaning is Unknown if the site has no rule for codes. After a
// status that is no success, the meaning is also Unknown for codes outside of renew and refused.
func (a *Answer) Read(answer []byte, success bool) (code string, m Meaning) {
	if a.Code == "" {
		return "", Unknown
	}
	code = Find(answer, a.Code)
	switch {
	case slices.Contains(a.Renew, code):
		return code, Renew
	case slices.Contains(a.Refused, code):
		return code, Refused
	case !success:
		return code, Unknown
	case slices.Contains(a.OK, code):
		return code, Taken
	default:
		return code, Failed
	}
}

// Find returns the single value at a path of an answer, as a text. The answer is JSON or XML. Find returns "" if there
// is no such value.
func Find(answer []byte, path string) string {
	answer = bytes.TrimSpace(answer)
	names := strings.Split(path, ".")
	if bytes.HasPrefix(answer, []byte("<")) {
		return inXML(answer, names)
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	var at any
	if d.Decode(&at) != nil {
		return ""
	}
	for _, name := range names {
		switch in := at.(type) {
		case map[string]any:
			at = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return ""
			}
			at = in[i]
		default:
			return ""
		}
	}
	switch at.(type) {
	case string, json.Number, bool:
		return fmt.Sprint(at)
	default:
		return ""
	}
}

// inXML returns the text of the first element at the path.
func inXML(answer []byte, names []string) string {
	d := xml.NewDecoder(bytes.NewReader(answer))
	// no decoding is needed, since codes are ASCII
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var open []string
	var text strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case xml.StartElement:
			open = append(open, t.Name.Local)
		case xml.CharData:
			if slices.Equal(open, names) {
				text.Write(t)
			}
		case xml.EndElement:
			if slices.Equal(open, names) {
				return strings.TrimSpace(text.String())
			}
			open = open[:len(open)-1]
		}
	}
}
