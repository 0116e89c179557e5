package rules

import "regexp"

// The spellings of names in a rule file.
var (
	ruleID    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`) // scopes, warehouses, labels
	paramName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	language  = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)
)

// The codes of this package's own problems; strictyaml, condition, probe and message have theirs.
// docs/error-codes.md has an example of each.
const (
	CodeUnreadable    = "file_unreadable"
	CodeRuleTest      = "rule_test"
	CodeBadID         = "bad_id"
	CodeDuplicateID   = "duplicate_id"
	CodeBadName       = "bad_name"
	CodeDuplicateName = "duplicate_name"
	CodeTooMany       = "too_many_rules"
	CodeBadURL        = "bad_url"
	CodeBadCron       = "bad_cron"
	CodeBadTimezone   = "bad_timezone"
	CodeOverride      = "not_overridable"
	CodeConflict      = "conflict"
	CodeMode          = "wrong_mode"
	CodePer           = "wrong_per"
	CodeGroup         = "group_warehouse"
	CodeAlert         = "alert_warehouse"
	CodeStrategy      = "wrong_strategy"
	CodeStrategySink  = "strategy_not_for_sink"
	CodeUnread        = "unless_unread"
	CodeTooLate       = "delivered_too_late"
	CodeParamMissing  = "param_missing"
	CodeParamUnused   = "param_unused"
	CodeParamReserved = "param_reserved"
	CodeWatermark     = "bad_watermark"
	CodePriority      = "bad_priority"
	CodeUnknownSource = "unknown_source"
	CodeUnknownSink   = "unknown_sink"
	CodeUnknownType   = "unknown_type"
	CodeUnknownColumn = "unknown_column"
	CodeColumnName    = "unusable_column"
	CodeUnknownData   = "unknown_data_field"
	CodeDataMissing   = "data_field_missing"
	CodeDataKind      = "data_field_kind"
	CodeExprKind      = "wrong_kind"
)
