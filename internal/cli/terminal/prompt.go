package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Prompt asks questions, one in each line. After a wrong answer it explains the error and asks again.
type Prompt struct {
	in  *bufio.Reader
	out io.Writer
}

// NewPrompt reads answers from in and writes questions to out.
func NewPrompt(in io.Reader, out io.Writer) *Prompt { return &Prompt{bufio.NewReader(in), out} }

// Note writes a line between questions.
func (p *Prompt) Note(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// Question is one question of a prompt.
type Question struct {
	Text     string
	Proposal string                    // the answer for an empty line; shown in brackets
	Empty    bool                      // an empty answer is valid, even without a proposal
	Choices  []string                  // the answers that ? lists
	Check    func(answer string) error // returns the error of a wrong answer; may be nil
}

// ErrNoAnswer is the error of a prompt after the end of its input.
var ErrNoAnswer = errors.New("the input ended before all questions were answered")

// Ask returns the answer to a question, or ErrNoAnswer.
func (p *Prompt) Ask(q Question) (string, error) {
	for {
		fmt.Fprint(p.out, q.Text)
		if len(q.Choices) > 0 {
			fmt.Fprint(p.out, " (? lists them)")
		}
		if q.Proposal != "" {
			fmt.Fprintf(p.out, " [%s]", q.Proposal)
		}
		fmt.Fprint(p.out, ": ")
		line, err := p.in.ReadString('\n')
		answer := strings.TrimSpace(line)
		if err != nil && answer == "" {
			fmt.Fprintln(p.out)
			return "", ErrNoAnswer
		}
		if answer == "" {
			answer = q.Proposal
		}
		switch {
		case answer == "?":
			p.list(q.Choices)
			continue
		case answer == "" && q.Empty:
			return "", nil
		case answer == "":
			fmt.Fprintln(p.out, "  an answer is needed")
			continue
		case q.Check == nil:
			return answer, nil
		}
		if wrong := q.Check(answer); wrong != nil {
			fmt.Fprintf(p.out, "  %v\n", wrong)
			continue
		}
		return answer, nil
	}
}

// Yes asks for a yes or no.
func (p *Prompt) Yes(text string, proposal bool) (bool, error) {
	word := map[bool]string{true: "yes", false: "no"}[proposal]
	answer, err := p.Ask(Question{Text: text, Proposal: word, Check: func(answer string) error {
		if !strings.HasPrefix("yes", strings.ToLower(answer)) && !strings.HasPrefix("no", strings.ToLower(answer)) {
			return errors.New("yes or no")
		}
		return nil
	}})
	return strings.HasPrefix(strings.ToLower(answer), "y"), err
}

func (p *Prompt) list(choices []string) {
	for _, c := range choices {
		fmt.Fprintln(p.out, "  "+c)
	}
}
