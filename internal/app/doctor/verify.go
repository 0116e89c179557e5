package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/ledger/sqlite"
)

// The codes of findings that Verify alone has.
const (
	CodeLedgerIntegrity   = "ledger_integrity"
	CodeLedgerIndexes     = "ledger_indexes"
	CodeLedgerEnd         = "ledger_end"
	CodeLedgerLineage     = "ledger_lineage"
	CodeLedgerRestored    = "ledger_restored"
	CodeDeliveriesWaiting = "deliveries_waiting"
	CodeItemsOpen         = "items_open"
	CodeItemsWithheld     = "items_withheld"
	CodeFindingsOpen      = "findings_open"
	CodeFiringsClaimed    = "firings_claimed"
	CodeWatermarks        = "watermarks"
)

const (
	restorePage  = "docs/how-to/back-up-and-restore.md"
	restoredSoon = 24 * time.Hour // A restore is a warning for this long, as in tallyman status.
)

// Verify looks at the configured ledger alone: its schema, its faults, whether Redis knows more than the ledger does,
// the open work, and what is sent again (tallyman ledger verify). It changes nothing, and needs no node. It has no time
// limit of its own: it reads the whole file of an SQLite ledger.
func Verify(ctx context.Context, cfg *config.Config) []Finding {
	steps, err := app.MigrateStatus(ctx, cfg)
	if err != nil && !errors.Is(err, ledger.ErrNewer) && !errors.Is(err, ledger.ErrOutdated) {
		return []Finding{wrong(CodeLedgerReach, "", err.Error(), "start the database, or correct ledger.url: docs/runbooks/ledger-out-of-reach.md")}
	}
	schema := schemaOf(steps, err)
	list := []Finding{schema}
	if hasNone(steps) {
		return list
	}
	list = append(list, integrity(ctx, cfg, isNewer(steps))...)
	if schema.State == Wrong {
		return list // The tables may differ from the tables that this program reads.
	}
	s, err := app.SurveyLedger(ctx, cfg)
	if err != nil {
		return append(list, wrong(CodeLedgerReach, "", err.Error(), "docs/reference/error-codes.md has the code of this error"))
	}
	return append(list, surveyed(s, time.Now())...)
}

// hasNone tells whether the ledger has no schema, or is not there at all.
func hasNone(steps []ledger.Migration) bool {
	return len(steps) > 0 && steps[0].Applied.IsZero()
}

// isNewer tells whether the ledger has steps of a newer version.
func isNewer(steps []ledger.Migration) bool {
	return slices.ContainsFunc(steps, func(m ledger.Migration) bool { return m.Name == "" })
}

// schemaOf judges the version of the schema. err is ErrNewer, ErrOutdated or nil.
func schemaOf(steps []ledger.Migration, err error) Finding {
	if err != nil {
		return wrong(CodeLedgerSchema, "", err.Error(), "start the version of Tallyman that the ledger belongs to: docs/how-to/upgrade-and-go-back.md")
	}
	var version int64
	pending := map[string]int{}
	for _, s := range steps {
		if s.Applied.IsZero() {
			pending[s.Phase]++
		} else {
			version = s.Version
		}
	}
	switch {
	case hasNone(steps):
		return wrong(CodeLedgerSchema, "", "the ledger has no schema", "restore a backup into the database of ledger.url, or make a new ledger: `tallyman migrate up`")
	case pending[ledger.Expand] > 0:
		return wrong(CodeLedgerSchema, "", fmt.Sprintf("the schema is at version %d; steps of phase expand are pending: %d", version, pending[ledger.Expand]), "run `tallyman migrate up --expand` as the owner of the tables")
	case isNewer(steps):
		return ok(CodeLedgerSchema, "", "a newer version has expanded the schema to version %d; this version can use the ledger", version)
	}
	return ok(CodeLedgerSchema, "", "the schema is at version %d, the version of this program; steps of phase contract are pending: %d", version, pending[ledger.Contract])
}

func integrity(ctx context.Context, cfg *config.Config, newer bool) []Finding {
	const way = "restore another backup: " + restorePage
	if cfg.Ledger.Driver == config.SQLite {
		faults, err := sqlite.CheckIntegrity(ctx, cfg.Ledger.Path)
		switch {
		case err != nil:
			return []Finding{wrong(CodeLedgerIntegrity, "", err.Error(), "make the file readable for this user")}
		case len(faults) > 0:
			return []Finding{wrong(CodeLedgerIntegrity, "", strings.Join(faults, "; "), way)}
		}
		return []Finding{ok(CodeLedgerIntegrity, "", "SQLite found no fault in the pages and indexes of %s", cfg.Ledger.Path)}
	}
	i, err := postgres.CheckIntegrity(ctx, cfg.Ledger.URL.Reveal(), newer)
	if err != nil {
		return []Finding{wrong(CodeLedgerIntegrity, "", err.Error(), "docs/runbooks/ledger-out-of-reach.md")}
	}
	parts := ok(CodeLedgerIntegrity, "", "the tables, columns, indexes, constraints, triggers and functions of the schema are there")
	switch {
	case len(i.Missing) > 0:
		parts = wrong(CodeLedgerIntegrity, "", "missing in the database: "+named(i.Missing), way+"; pg_restore needs --exit-on-error")
	case len(i.Invalid) > 0:
		parts = wrong(CodeLedgerIntegrity, "", "not valid in the database: "+named(i.Invalid), "make an index again with REINDEX INDEX, and check a constraint with ALTER TABLE … VALIDATE CONSTRAINT")
	case newer:
		parts = skipped(CodeLedgerIntegrity, "", "the schema of a newer version was not compared; the indexes and constraints of the database are valid")
	}
	indexes := ok(CodeLedgerIndexes, "", "amcheck found no fault in %d indexes", i.Indexes)
	switch {
	case len(i.Damaged) > 0:
		indexes = wrong(CodeLedgerIndexes, "", named(i.Damaged), "make each index again with REINDEX INDEX; where a machine with other locales took over, REINDEX DATABASE")
	case i.Unread != "":
		indexes = skipped(CodeLedgerIndexes, "", "the order of the indexes was not checked: %s", i.Unread)
	}
	return []Finding{parts, indexes}
}

// surveyed returns the findings about a ledger that can be read.
func surveyed(s *app.LedgerSurvey, now time.Time) []Finding {
	list := []Finding{endOf(s, now), restoredAt(s, now)}
	restored := false
	for i := range s.Indexes {
		list = append(list, outlook(&s.Indexes[i]))
		restored = restored || s.Indexes[i].Restored != ""
	}
	if len(s.Indexes) == 0 {
		list = append(list, ok(CodeLedgerLineage, "", "Redis runs inside the node and remembers nothing: the node writes inboxes and queues back from the ledger"))
	}
	for _, sink := range slices.Sorted(maps.Keys(s.Waiting)) {
		list = append(list, waiting(s, sink, restored))
	}
	if len(s.Waiting) == 0 {
		list = append(list, ok(CodeDeliveriesWaiting, "", "no delivery waits, so nothing is sent at the next start"))
	}
	list = append(list, items(s)...)
	for _, queue := range slices.Sorted(maps.Keys(s.Withheld)) {
		list = append(list, warning(CodeItemsWithheld, queue, fmt.Sprintf("withheld items: %d", s.Withheld[queue]), "decide about each item: "+restorePage+"#4-decide-about-withheld-items"))
	}
	return append(list,
		ok(CodeFindingsOpen, "", "findings: %d firing, %d pending", s.Firing, s.Pending),
		ok(CodeFiringsClaimed, "", "firings: %d claimed, %d abandoned; nodes run abandoned firings again", s.Claimed, s.Abandoned),
		ok(CodeWatermarks, "", "watermarks: %d; a rule of mode event reads again from its watermark", s.Watermarks))
}

func endOf(s *app.LedgerSurvey, now time.Time) Finding {
	if s.LastSign.IsZero() {
		return ok(CodeLedgerEnd, "", "no node has used the ledger yet")
	}
	notice := "the ledger has no notice"
	if !s.LastNotice.IsZero() {
		notice = "the latest notice is from " + s.LastNotice.Format(time.RFC3339)
	}
	return ok(CodeLedgerEnd, "", "a node last used the ledger at %s, %s ago; %s", s.LastSign.Format(time.RFC3339), max(now.Sub(s.LastSign), 0).Round(time.Second), notice)
}

func restoredAt(s *app.LedgerSurvey, now time.Time) Finding {
	switch {
	case s.Restored.IsZero():
		return ok(CodeLedgerRestored, "", "no node has noticed a restore of the ledger")
	case now.Sub(s.Restored) > restoredSoon:
		return ok(CodeLedgerRestored, "", "a node noticed at %s that the ledger was restored", s.Restored.Format(time.RFC3339))
	}
	return warning(CodeLedgerRestored, "", "a node noticed at "+s.Restored.Format(time.RFC3339)+" that the ledger was restored",
		"`tallyman audit list --action ledger.restored` says what was noticed; then "+restorePage+"#after-every-restore")
}

// outlook says what the next node that starts does with an index.
func outlook(o *app.IndexOutlook) Finding {
	const after = restorePage + "#after-every-restore"
	switch {
	case o.Err != nil:
		return warning(CodeLedgerLineage, o.Sink, "Redis was not compared with the ledger: "+o.Err.Error(), "start Redis, or correct redis.url; then run the command again")
	case o.Restored != "":
		return warning(CodeLedgerLineage, o.Sink, "Redis knows more than this ledger: "+o.Restored+"; nodes begin a new epoch, write the index back from the ledger, and clients get a reset",
			"if this ledger is the right one, start the nodes and leave Redis as it is; then "+after)
	case o.Epoch == "":
		return ok(CodeLedgerLineage, o.Sink, "no node has served the index yet")
	case o.Rebuilt != "":
		return warning(CodeLedgerLineage, o.Sink, "Redis does not hold the index: "+o.Rebuilt+"; nodes write it back from the ledger, and clients get a reset",
			"if the ledger was restored, too, nobody knows what ended after the backup: "+restorePage+"#what-nodes-cannot-notice")
	}
	return ok(CodeLedgerLineage, o.Sink, "Redis knows nothing that this ledger does not know; nodes go on in epoch %s", o.Epoch)
}

// waiting returns the finding about the deliveries of a sink that nodes send after their next start.
func waiting(s *app.LedgerSurvey, sink string, restored bool) Finding {
	found := fmt.Sprintf("deliveries that wait: %d, the oldest since %s; nodes send each of them when it is due; after a restore nodes send again what was sent after the backup",
		s.Waiting[sink], s.Oldest[sink].UTC().Format(time.RFC3339))
	if !restored {
		return ok(CodeDeliveriesWaiting, sink, "%s", found)
	}
	return warning(CodeDeliveriesWaiting, sink, found+"; here these are the deliveries sent after "+s.LastSign.Format(time.RFC3339),
		"webhooks come again with their webhook-id, and mail and chat come twice: tell the recipients; "+restorePage+"#what-a-restore-loses-and-what-is-sent-again")
}

// items lists the items that have not ended, by queue.
func items(s *app.LedgerSurvey) (list []Finding) {
	for _, queue := range slices.Sorted(maps.Keys(s.Items)) {
		var parts []string
		for _, state := range slices.Sorted(maps.Keys(s.Items[queue])) {
			parts = append(parts, fmt.Sprintf("%d %s", s.Items[queue][state], state))
		}
		found := "items that have not ended: " + strings.Join(parts, ", ")
		if s.Items[queue][item.Leased] > 0 {
			found += "; after a restore the leases have ended"
		}
		list = append(list, ok(CodeItemsOpen, queue, "%s", found))
	}
	if len(list) == 0 {
		list = append(list, ok(CodeItemsOpen, "", "no queue has an item that has not ended"))
	}
	return list
}
