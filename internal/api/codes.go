package api

// Code is a problem's stable name: clients switch on it, so a code is never renamed. docs/api.md explains each.
type Code string

// The codes.
const (
	CodeBadCursor            Code = "bad_cursor"
	CodeBadKey               Code = "bad_key"
	CodeBadHost              Code = "bad_host"
	CodeBadLimit             Code = "bad_limit"
	CodeBadSince             Code = "bad_since"
	CodeBadSubscriber        Code = "bad_subscriber"
	CodeBadType              Code = "bad_type"
	CodeBadWait              Code = "bad_wait"
	CodeBadWarehouse         Code = "bad_warehouse"
	CodeBodyTooLarge         Code = "body_too_large"
	CodeBodyTimeout          Code = "body_timeout"
	CodeCrossOrigin          Code = "cross_origin"
	CodeInternal             Code = "internal_error"
	CodeInvalidBody          Code = "invalid_body"
	CodeInvalidParameter     Code = "invalid_parameter"
	CodeLedgerUnavailable    Code = "ledger_unavailable"
	CodeMalformedBody        Code = "malformed_body"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeMissingParameter     Code = "missing_parameter"
	CodeNotAcceptable        Code = "not_acceptable"
	CodeNotAvailable         Code = "not_available"
	CodeNotFound             Code = "not_found"
	CodeNotReady             Code = "not_ready"
	CodeRepeatedParameter    Code = "repeated_parameter"
	CodeRuleNotFound         Code = "rule_not_found"
	CodeRuleNotShadow        Code = "rule_not_shadow"
	CodeScopeMissing         Code = "scope_missing"
	CodeScopeNotFound        Code = "scope_not_found"
	CodeSubscriptionNotFound Code = "subscription_not_found"
	CodeTypeExists           Code = "type_exists"
	CodeTypeIDTaken          Code = "type_id_taken"
	CodeInboxUnavailable     Code = "inbox_unavailable"
	CodeUnknownParameter     Code = "unknown_parameter"
	CodeUnknownType          Code = "unknown_type"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
)
