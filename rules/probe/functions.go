package probe

import "strings"

// Refusal says why a function is not for probes.
type Refusal struct {
	Code string // of the fault: sql_function, sql_locks or sql_session
	Does string // what the function does, as a message says it after its name
	Hint string // the way out
}

var (
	setsSession = Refusal{CodeSession, "changes the session", "leave it out: timeouts and settings belong to the source's configuration"}
	takesLock   = Refusal{CodeLocks, "takes or frees a lock that outlives the probe", "leave it out: firings are already claimed once in the whole cluster"}
	writes      = Refusal{CodeFunction, "writes", readOnlyHint}
	sequence    = Refusal{CodeFunction, "moves a sequence", "read the sequence's last_value instead"}
	server      = Refusal{CodeFunction, "acts on the server", "run it by hand; a probe only reads"}
	files       = Refusal{CodeFunction, "reaches the server's files", "load the file into a table and read that"}
	elsewhere   = Refusal{CodeFunction, "reaches another server, past the read-only transaction", "configure that server as a source of its own"}
	hidden      = Refusal{CodeFunction, "runs SQL that cannot be checked here", "write that SQL as the probe"}
	loadsCode   = Refusal{CodeFunction, "loads code", "leave it out"}
)

// refusedNames and refusedPrefixes list functions that do more than read. What a database would refuse
// anyway in a read-only transaction is here for its message, the rest because it would not.
var refusedNames = map[string]Refusal{
	"set_config": setsSession, "setseed": setsSession,
	"get_lock": takesLock, "release_lock": takesLock, "release_all_locks": takesLock,
	"nextval": sequence, "setval": sequence,
	"lo_import": files, "lo_export": files, "lo_create": writes, "lo_creat": writes, "lo_unlink": writes, "lo_put": writes,
	"lo_from_bytea": writes, "lo_truncate": writes, "lo_truncate64": writes, "lowrite": writes,
	"pg_read_file": files, "pg_read_binary_file": files, "pg_stat_file": files, "pg_current_logfile": files,
	"readfile": files, "writefile": files, "load_file": files, "fsdir": files,
	"load_extension": loadsCode, "fts3_tokenizer": loadsCode,
	"pg_terminate_backend": server, "pg_cancel_backend": server, "pg_reload_conf": server, "pg_rotate_logfile": server,
	"pg_promote": server, "pg_switch_wal": server, "pg_create_restore_point": server, "pg_wal_replay_pause": server,
	"pg_wal_replay_resume": server, "pg_backup_start": server, "pg_backup_stop": server, "pg_start_backup": server,
	"pg_stop_backup": server, "pg_notify": server, "pg_log_backend_memory_contexts": server, "pg_export_snapshot": server,
	"ts_stat": hidden, "xp_cmdshell": server,
}

var refusedPrefixes = []struct {
	prefix string
	Refusal
}{
	{"pg_advisory_", takesLock},
	{"pg_try_advisory_", takesLock},
	{"dblink", elsewhere},
	{"query_to_xml", hidden},
	{"cursor_to_xml", hidden},
	{"table_to_xml", hidden},
	{"schema_to_xml", hidden},
	{"database_to_xml", hidden},
	{"binary_upgrade_", server},
	{"pg_log_", server},
	{"pg_file_", files},
	{"pg_ls_", files},
	{"pg_stat_reset", server},
	{"pg_create_logical_", server},
	{"pg_create_physical_", server},
	{"pg_copy_logical_", server},
	{"pg_copy_physical_", server},
	{"pg_drop_replication_", server},
	{"pg_replication_origin_", server},
	{"pg_replication_slot_", server},
	{"pg_logical_", server},
	{"group_replication_", server},
	{"asynchronous_connection_failover_", server},
	{"version_tokens_", server},
	{"service_get_", takesLock},
	{"service_release_", takesLock},
	{"sys_exec", server},
	{"sys_eval", server},
	{"sys_set", server},
}

// Refuse tells why a probe cannot call the function of that name, in whatever database and whoever calls it.
func Refuse(name string) (Refusal, bool) {
	name = strings.ToLower(name)
	if r, ok := refusedNames[name]; ok {
		return r, true
	}
	for _, p := range refusedPrefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.Refusal, true
		}
	}
	return Refusal{}, false
}
