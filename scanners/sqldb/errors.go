package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// mapError names what went wrong. The error of a context that ended can be found with errors.Is; a driver's error is kept as
// its text only, without the secrets of the configuration. code is for what the server reports without a code of ours.
func (s *Source) mapError(ctx context.Context, err error, code scanners.Code) *scanners.Error {
	if mapped, ok := errors.AsType[*scanners.Error](err); ok {
		return mapped
	}
	cause := ctx.Err()
	if errors.Is(cause, context.Canceled) || errors.Is(err, context.Canceled) {
		return &scanners.Error{Code: scanners.CodeFailed, Transient: true, Err: context.Canceled}
	}
	if answer := s.config.Dialect.Answer(err, code); answer != nil {
		return answer
	}
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return &scanners.Error{
			Code: scanners.CodeTimeout, Transient: true,
			Err: fmt.Errorf("the database did not answer in time: %w", context.DeadlineExceeded),
		}
	}
	return &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New(s.redact(err.Error()))}
}

// redact takes secrets and line breaks out of a driver's words.
func (s *Source) redact(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, secret := range s.config.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// Refuse returns the first of the faults that a database's own reading of the statement found, as an error; nil where there is none.
func Refuse(stmt *probe.Statement, faults []probe.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	before := []rune(stmt.Text)[:f.Offset]
	return &scanners.Error{
		Code: scanners.CodeStatement, Hint: f.Hint, At: f.Offset + 1,
		Err: fmt.Errorf("%s (line %d of the probe)", f.Message, 1+strings.Count(string(before), "\n")),
	}
}
