package metrics

import "strconv"

// RequestDone counts a request. operation is an id of the OpenAPI document, or one of the few names for what is none.
func (m *Metrics) RequestDone(operation string, status int) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status/100)+"xx").Inc()
}
