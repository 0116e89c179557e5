package wire

import (
	"encoding/xml"
	"net/http"
	"strconv"
)

// Problem is an error as clients see it: RFC 9457 with a stable code, in JSON or in the XML of the RFC's appendix B.
type Problem struct { //nolint:errname // the RFC's word
	XMLName   xml.Name `json:"-" xml:"urn:ietf:rfc:7807 problem"`
	Title     string   `json:"title" xml:"title" doc:"the HTTP status in words"`
	Status    int      `json:"status" xml:"status" doc:"the HTTP status"`
	Detail    string   `json:"detail" xml:"detail" doc:"what is wrong with this request, for people"`
	Code      Code     `json:"code" xml:"code" doc:"what is wrong, for programs. A code is never renamed" example:"bad_cursor"`
	RequestID string   `json:"requestId,omitempty" xml:"requestId,omitempty" doc:"id under which the server's log has this request"`
	Errors    []Fault  `json:"errors,omitempty" xml:"errors>i,omitempty" doc:"the faults one by one, where the request has several" nullable:"false"`

	RetryAfter int    `json:"-" xml:"-"` // Header Retry-After in seconds; 0 = no header.
	Challenge  string `json:"-" xml:"-"` // Header WWW-Authenticate; "" = no header.
}

// Error returns the code and the detail. The method makes Problem an error, so that a handler can return a problem.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// GetStatus returns the HTTP status. The OpenAPI library calls GetStatus.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of a problem for an answer of media type ct.
func (p *Problem) ContentType(ct string) string {
	if ct == "application/json" {
		return "application/problem+json"
	}
	return "application/problem+xml"
}

// GetHeaders returns the headers that belong to the problem. The OpenAPI library calls GetHeaders.
func (p *Problem) GetHeaders() http.Header {
	if p.RetryAfter == 0 && p.Challenge == "" {
		return nil
	}
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Challenge != "" {
		h.Set("WWW-Authenticate", p.Challenge)
	}
	return h
}

// Fault is one of several faults of a request.
type Fault struct {
	Location string `json:"location,omitempty" xml:"location,omitempty" doc:"place of the fault, such as body.fields.bin.type"`
	Message  string `json:"message" xml:"message" doc:"what is wrong there"`
}

// NewProblem makes a problem. The title is the text of the HTTP status.
func NewProblem(status int, code Code, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// Code is the stable name of a problem. Clients switch on codes, so a code is never renamed. docs/reference/api.md
// explains each code.
type Code string

// Codes of problems. A new code needs an entry in docs/reference/api.md.
const (
	CodeAuditUnavailable     Code = "audit_unavailable"
	CodeBadCursor            Code = "bad_cursor"
	CodeBadKey               Code = "bad_key"
	CodeBadHost              Code = "bad_host"
	CodeBadIdempotencyKey    Code = "bad_idempotency_key"
	CodeBadLimit             Code = "bad_limit"
	CodeBadSince             Code = "bad_since"
	CodeBadSubscriber        Code = "bad_subscriber"
	CodeBadText              Code = "bad_text" // text.Code
	CodeBadType              Code = "bad_type"
	CodeBadWait              Code = "bad_wait"
	CodeBadWarehouse         Code = "bad_warehouse"
	CodeBodyTooLarge         Code = "body_too_large"
	CodeBodyTimeout          Code = "body_timeout"
	CodeCrossOrigin          Code = "cross_origin"
	CodeDeliveryNotFound     Code = "delivery_not_found"
	CodeDeliveryUnchanged    Code = "delivery_unchanged"
	CodeForeignCursor        Code = "foreign_cursor"
	CodeHeadersTooLarge      Code = "headers_too_large"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"
	CodeInternal             Code = "internal_error"
	CodeInvalidBody          Code = "invalid_body"
	CodeInvalidParameter     Code = "invalid_parameter"
	CodeClockNotAhead        Code = "clock_not_ahead"
	CodeItemDead             Code = "item_dead"
	CodeItemLeased           Code = "item_leased"
	CodeItemNotDead          Code = "item_not_dead"
	CodeItemNotFound         Code = "item_not_found"
	CodeKeysUnavailable      Code = "keys_unavailable"
	CodeLeaseLost            Code = "lease_lost"
	CodeLedgerUnavailable    Code = "ledger_unavailable"
	CodeMalformedBody        Code = "malformed_body"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeMissingParameter     Code = "missing_parameter"
	CodeNotAcceptable        Code = "not_acceptable"
	CodeNotFound             Code = "not_found"
	CodeNotReady             Code = "not_ready"
	CodeNoticeNotFound       Code = "notice_not_found"
	CodeOtherNode            Code = "other_node"
	CodeQueueNotFound        Code = "queue_not_found"
	CodeQueueUnavailable     Code = "queue_unavailable"
	CodeRepeatedHeader       Code = "repeated_header"
	CodeRepeatedParameter    Code = "repeated_parameter"
	CodeRoleMissing          Code = "role_missing"
	CodeRuleBusy             Code = "rule_busy"
	CodeRuleNoWatermark      Code = "rule_no_watermark"
	CodeRuleNotFound         Code = "rule_not_found"
	CodeRuleNotShadow        Code = "rule_not_shadow"
	CodeRuleUnverified       Code = "rule_unverified"
	CodeScopeMissing         Code = "scope_missing"
	CodeScopeNotFound        Code = "scope_not_found"
	CodeShuttingDown         Code = "shutting_down"
	CodeSilenceNotFound      Code = "silence_not_found"
	CodeSinkNotFound         Code = "sink_not_found"
	CodeSourceUnavailable    Code = "source_unavailable"
	CodeStrategyNotForSink   Code = "strategy_not_for_sink"
	CodeSubscriberDenied     Code = "subscriber_denied"
	CodeSubscriberNotFound   Code = "subscriber_not_found"
	CodeSubscriptionNotFound Code = "subscription_not_found"
	CodeHasOrigin            Code = "subscription_has_origin"
	CodeListChanged          Code = "list_changed"
	CodeOriginNotFound       Code = "origin_not_found"
	CodeOriginConfigured     Code = "origin_configured"
	CodeSuspendLimit         Code = "suspend_limit"
	CodeTooManyRequests      Code = "too_many_requests"
	CodeTooManySilences      Code = "too_many_silences"
	CodeTooManyStreams       Code = "too_many_streams"
	CodeTokenExpired         Code = "token_expired"
	CodeTokenInvalid         Code = "token_invalid"
	CodeTokenIsCallers       Code = "token_is_callers"
	CodeTokenLastAdmin       Code = "token_last_admin"
	CodeTokenMissing         Code = "token_missing"
	CodeTokenNotFound        Code = "token_not_found"
	CodeTokenRevoked         Code = "token_revoked"
	CodeTypeExists           Code = "type_exists"
	CodeTypeIDTaken          Code = "type_id_taken"
	CodeTypeReserved         Code = "type_reserved"
	CodeInboxUnavailable     Code = "inbox_unavailable"
	CodeUnknownParameter     Code = "unknown_parameter"
	CodeUnknownSink          Code = "unknown_sink"
	CodeUnknownType          Code = "unknown_type"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeWarehouseDenied      Code = "warehouse_denied"
)
