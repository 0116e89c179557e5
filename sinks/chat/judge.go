package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

const (
	maxTold  = 200 // bytes of an answer that an error shows
	maxError = 600
	maxLater = time.Hour
)

// noticeError says that the service will never take this message, whatever becomes of the chat.
type noticeError struct{ err error }

func (e *noticeError) Error() string { return e.err.Error() }
func (e *noticeError) Unwrap() error { return e.err }

// laterError says that the service asks to be left alone.
type laterError struct {
	after time.Duration // 0 = it does not say for how long
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// judge tells what is wrong with the notice from what is wrong with the chat.
func (c *Channel) judge(d *delivery.Delivery, a answer) error {
	err := a.err
	if err == nil {
		err = c.status(a)
	}
	if err == nil {
		return nil
	}
	told := c.clean(err)
	if _, ok := errors.AsType[*noticeError](err); ok {
		return refuse(d, told)
	}
	if later, ok := errors.AsType[*laterError](err); ok && later.after > 0 {
		return &sinks.LaterError{After: min(later.after, maxLater), Err: told}
	}
	return told
}

// status judges an answer. 400, 413, 415 and 422 are about what was sent, all others about the endpoint: a wrong token, a chat that is gone, an
// overload. A person mends those, and then everything must arrive.
func (c *Channel) status(a answer) error {
	if a.status/100 == 2 {
		return c.service.read(a.body)
	}
	said := fmt.Errorf("%d %s%s", a.status, http.StatusText(a.status), c.quote(a.body))
	switch a.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		if s, ok := c.service.(interface{ ofChat(body []byte) bool }); ok && s.ofChat(a.body) {
			return said
		}
		return &noticeError{said}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &laterError{after: c.after(a), err: said}
	default:
		return said
	}
}

func (c *Channel) quote(body []byte) string {
	shown := c.scrubber.Text
	if len(body) == readBytes {
		shown = c.scrubber.Cut
	}
	if told := shown(string(body), maxTold); told != "" {
		return ": " + told
	}
	return ""
}

// clean makes an error fit for log and ledger. It keeps no cause, whose text would be the one that was cleaned.
func (c *Channel) clean(err error) error {
	return errors.New("chat: " + c.scrubber.Text(c.kind+": "+err.Error(), maxError))
}

// after is for how long the service asks to be left alone: by the header, so many seconds or until a date, or in its JSON.
func (c *Channel) after(a answer) time.Duration {
	text := strings.TrimSpace(a.header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return inSeconds(seconds)
	}
	if until, err := http.ParseTime(text); err == nil {
		return max(0, until.Sub(c.now()))
	}
	var told struct {
		RetryAfter float64 `json:"retry_after"` // Discord
		Parameters struct {
			RetryAfter float64 `json:"retry_after"` // Telegram
		} `json:"parameters"`
	}
	if json.Unmarshal(a.body, &told) != nil {
		return 0
	}
	return inSeconds(max(told.RetryAfter, told.Parameters.RetryAfter))
}

func inSeconds(s float64) time.Duration {
	switch {
	case !(s > 0): // nor is NaN
		return 0
	case s > maxLater.Seconds():
		return maxLater
	default:
		return time.Duration(s * float64(time.Second))
	}
}
