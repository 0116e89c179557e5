package codec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/delivery"
)

// maxAttemptError bounds the error text of a kept attempt, in bytes. The last error of a delivery is kept whole in
// another column. SQLite cuts the column of attempts at 6000 characters, which is enough for KeptAttempts attempts of
// this length. PostgreSQL cuts it after KeptAttempts lines.
const maxAttemptError = 250

// refusedWithoutStatus stands for a delivery that the receiver refused for good without a status.
const refusedWithoutStatus = 1

// Attempt encodes an attempt as a line, which statements put before the earlier attempts of the delivery. The line
// has the duration in µs, the status and the error. The statement prepends the start by the ledger's clock, which is
// now - ago. The status is negative where the receiver refused for good; -1 = the receiver gave no status.
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

// attemptError returns the error on one line, cut to maxAttemptError.
func attemptError(s string) string {
	s = strings.Join(strings.Fields(Text(s)), " ")
	if len(s) > maxAttemptError {
		s = strings.ToValidUTF8(s[:maxAttemptError], "")
	}
	return s
}

// Attempts decodes the column: the last attempts of a delivery, the latest first. Attempts ignores all lines after the
// first KeptAttempts lines. SQLite may have cut the last line of the column.
func Attempts(column string) ([]delivery.Attempt, error) {
	var out []delivery.Attempt
	for line := range strings.Lines(column) {
		if len(out) == delivery.KeptAttempts {
			break
		}
		a, err := parseAttempt(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("kept attempt %d: %w", len(out)+1, err)
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
