package postgres

import (
	"strings"

	"tallyman/rules/probe"
)

// function is a function as the catalogue has it.
type function struct {
	name         string // as the configuration names it
	bare         string // without its schema
	builtin      bool   // PostgreSQL's own
	volatile     bool
	language     string
	ownersRights bool   // SECURITY DEFINER
	path         string // the search_path that it sets, "" where it sets none
}

// judge tells why a probe may not call the function, and another way out than to allow it; "" where it may, a function in SQL by what its body calls.
func (f *function) judge() (why, hint string) {
	if refusal, found := probe.Refuse(f.bare); found {
		return refusal.Does, refusal.Hint
	}
	switch {
	case runsText[f.bare]:
		return "runs SQL that it is given as a text", "write that SQL as the probe"
	case f.builtin && takesNumber[f.bare]:
		return "makes the server number the transaction", ""
	case f.volatile && f.builtin && harmless[f.bare]:
		return "", ""
	case f.volatile && f.builtin:
		return "is volatile: it may do more than read", ""
	case f.volatile:
		return "is volatile: it may do more than read", "if it only reads, let its owner declare it STABLE or IMMUTABLE"
	case f.builtin, f.language == "internal", f.language == "c", f.isSQL() && !f.ownersRights:
		return "", ""
	case f.ownersRights:
		return "runs with the rights of its owner", ""
	}
	return "is written in " + f.language + ", which the server does not look into before it runs", ""
}

// isSQL tells whether the server can say what the function calls.
func (f *function) isSQL() bool { return f.language == "sql" && !f.builtin }

func names(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// runsText holds functions of PostgreSQL's extensions that run SQL which they are given, though they are not volatile.
var runsText = names(`crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby xpath_table`)

// takesNumber holds functions that are stable to the server and all the same use up one of its transaction numbers.
var takesNumber = names(`txid_current pg_current_xact_id`)

// harmless holds PostgreSQL's own volatile functions that only read or calculate: another call may give another value, and nothing remains of it.
var harmless = names(`random random_normal clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7 bernoulli system
	pg_is_in_recovery pg_last_xact_replay_timestamp pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_current_wal_lsn pg_current_wal_flush_lsn
	pg_current_wal_insert_lsn pg_is_wal_replay_paused pg_xact_commit_timestamp pg_last_committed_xact pg_xact_status txid_status
	pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size pg_database_size pg_tablespace_size pg_sequence_last_value
	pg_partition_tree pg_partition_ancestors pg_lock_status pg_blocking_pids pg_safe_snapshot_blocking_pids pg_notification_queue_usage
	pg_stat_get_xact_numscans pg_stat_get_xact_tuples_returned pg_stat_get_xact_tuples_fetched pg_stat_get_xact_tuples_inserted
	pg_stat_get_xact_tuples_updated pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_hot_updated pg_stat_get_xact_blocks_fetched
	pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls pg_stat_get_xact_function_total_time pg_stat_get_xact_function_self_time
	pg_stat_get_xact_tuples_newpage_updated pg_stat_have_stats pg_stat_get_io pg_stat_get_recovery_prefetch pg_get_wait_events
	pg_collation_actual_version pg_database_collation_actual_version current_query pg_prepared_xact`)
