package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// prompt asks questions, one a line. A wrong answer is explained and asked for again.
type prompt struct {
	in  *bufio.Reader
	out io.Writer
}

// question is one of them.
type question struct {
	text     string
	proposal string                    // what an empty answer means; shown in brackets
	empty    bool                      // an empty answer is one, where nothing is proposed
	choices  []string                  // what ? lists
	check    func(answer string) error // what is wrong with the answer; may be nil
}

var errNoAnswer = errors.New("the input ended before all was answered")

func (p *prompt) ask(q question) (string, error) {
	for {
		fmt.Fprint(p.out, q.text)
		if len(q.choices) > 0 {
			fmt.Fprint(p.out, " (? lists them)")
		}
		if q.proposal != "" {
			fmt.Fprintf(p.out, " [%s]", q.proposal)
		}
		fmt.Fprint(p.out, ": ")
		line, err := p.in.ReadString('\n')
		answer := strings.TrimSpace(line)
		if err != nil && answer == "" {
			fmt.Fprintln(p.out)
			return "", &exitError{ExitUsage, errNoAnswer}
		}
		if answer == "" {
			answer = q.proposal
		}
		switch {
		case answer == "?":
			p.list(q.choices)
			continue
		case answer == "" && q.empty:
			return "", nil
		case answer == "":
			fmt.Fprintln(p.out, "  an answer is needed")
			continue
		case q.check == nil:
			return answer, nil
		}
		if wrong := q.check(answer); wrong != nil {
			fmt.Fprintf(p.out, "  %v\n", wrong)
			continue
		}
		return answer, nil
	}
}

// yes asks for a yes or no.
func (p *prompt) yes(text string, proposal bool) (bool, error) {
	word := map[bool]string{true: "yes", false: "no"}[proposal]
	answer, err := p.ask(question{text: text, proposal: word, check: func(answer string) error {
		if !strings.HasPrefix("yes", strings.ToLower(answer)) && !strings.HasPrefix("no", strings.ToLower(answer)) {
			return errors.New("yes or no")
		}
		return nil
	}})
	return strings.HasPrefix(strings.ToLower(answer), "y"), err
}

func (p *prompt) list(choices []string) {
	for _, c := range choices {
		fmt.Fprintln(p.out, "  "+c)
	}
}
