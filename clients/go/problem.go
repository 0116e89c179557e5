package tallyman

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tallyman/clients/go/api"
)

// ProblemError is an answer of the service that is not a success. Code is empty if something else has answered, such as
// a proxy.
type ProblemError struct {
	api.Problem

	RetryAfter time.Duration // The pause that the answer asks for; 0 = none.
}

func newProblemError(r *http.Response, body []byte) *ProblemError {
	e := &ProblemError{RetryAfter: retryAfter(r.Header.Get("Retry-After"), time.Now())}
	if err := json.Unmarshal(body, &e.Problem); err != nil || e.Code == "" {
		e.Problem = api.Problem{Title: http.StatusText(r.StatusCode)}
	}
	e.Status = int64(r.StatusCode)
	return e
}

// Error returns the status, the code and the detail.
func (e *ProblemError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the server answers %d %s", e.Status, e.Title)
	}
	return fmt.Sprintf("the server answers %d %s: %s", e.Status, e.Code, e.Detail)
}

// retryAfter parses the header, which has seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(header); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// isTemporary tells whether a repeated request may succeed: there was no answer, or the service cannot answer now.
func isTemporary(err error) bool {
	var problem *ProblemError
	if !errors.As(err, &problem) {
		return true
	}
	return problem.Status >= http.StatusInternalServerError || problem.Status == http.StatusTooManyRequests || problem.Status == http.StatusRequestTimeout
}
