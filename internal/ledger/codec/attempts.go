package codec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/delivery"
)

// maxAttemptError is how much of an attempt's error is kept, in bytes; the last error of a delivery is kept whole beside that.
// SQLite cuts the column at 6000 characters, which hold KeptAttempts with errors of this length; PostgreSQL after so many lines.
const maxAttemptError = 250

// refusedWithoutStatus is the status of an attempt that the other side refused for good without a code.
const refusedWithoutStatus = 1

// Attempt is what is put before the attempts that a delivery has, as a line: when the attempt began, by the ledger's clock, how long
// it took in µs, the status, and the error. The status is negative where the other side refused for good; -1 = it gave no code.
// The time is for the statement to add: now less ago.
func Attempt(a *delivery.Attempt) (ago int64, line string) {
	if !a.At.IsZero() {
		ago = max(0, time.Since(a.At).Microseconds())
	}
	status := max(0, a.Status)
	if a.Refused {
		status = -max(status, refusedWithoutStatus)
	}
	return ago, fmt.Sprintf(" %d %d %s\n", max(0, a.Took.Microseconds()), status, attemptError(a.Error))
}

// attemptError is the error on one line.
func attemptError(s string) string {
	s = strings.Join(strings.Fields(Text(s)), " ")
	if len(s) > maxAttemptError {
		s = strings.ToValidUTF8(s[:maxAttemptError], "")
	}
	return s
}

// Attempts reads the column: the last attempts of a delivery, the latest first. What SQLite has cut stands behind them.
func Attempts(column string) ([]delivery.Attempt, error) {
	var out []delivery.Attempt
	for line := range strings.Lines(column) {
		if len(out) == delivery.KeptAttempts {
			break
		}
		a, err := parseAttempt(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("attempt %d of what is kept: %w", len(out)+1, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAttempt(line string) (delivery.Attempt, error) {
	var a delivery.Attempt
	fields := strings.SplitN(line, " ", 4)
	if len(fields) != 4 {
		return a, fmt.Errorf("%d fields instead of 4", len(fields))
	}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return a, err
		}
		numbers[i] = n
	}
	a = delivery.Attempt{At: Time(numbers[0]), Took: Span(numbers[1]), Status: int(numbers[2]), Error: fields[3]}
	if a.Status < 0 {
		a.Refused, a.Status = true, -a.Status
	}
	if a.Refused && a.Status == refusedWithoutStatus {
		a.Status = 0
	}
	return a, nil
}
