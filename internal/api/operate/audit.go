package operate

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

type (
	auditInput struct {
		Object string                `query:"object" doc:"only changes of this object, or of objects that begin with this text: rule, rule:negative-bin-stock, queue:replenishment" example:"rule:negative-bin-stock"`
		By     string                `query:"by" doc:"only changes by this author" example:"user:ann"`
		Action string                `query:"action" doc:"only this action, or actions that begin with this text: rule, rule.disable" example:"rule.disable"`
		Since  string                `query:"since" doc:"only changes at this time or later: RFC 3339, or a duration before now such as 7d" example:"7d"`
		Order  api.ListOrder         `query:"order" doc:"order of the list: the latest first, or the oldest first"`
		After  string                `query:"after" doc:"cursor of the previous page"`
		Limit  api.Limit[api.OfList] `query:"limit" doc:"maximum number of changes in a page. A page with large states can have fewer"`
	}
	auditOutput struct{ Body wire.AuditForm }
)

func (h *Handlers) registerAudit(operations huma.API) {
	list := api.Operation("list-audit", http.MethodGet, "/audit", "operations", "List the recorded changes")
	list.Description = "Every change of settings has a record. The change and its record are written together, and nobody can change or remove the record. Changes of data " +
		"have no record: notices, marks of readers, and the work on items."
	huma.Register(operations, list, h.listAudit)
}

// listAudit answers GET /audit. A record belongs to no warehouse, so the token must be for all warehouses.
func (h *Handlers) listAudit(ctx context.Context, in *auditInput) (*auditOutput, error) {
	if !auth.From(ctx).Everywhere() {
		return nil, api.Denied(wire.CodeWarehouseDenied, "the audit covers all warehouses, and your token does not")
	}
	f, prob := in.parse(h.deps.Silences.Now())
	if prob != nil {
		return nil, prob
	}
	list, more, err := h.deps.Audit.Changes(ctx, f)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &auditOutput{}
	if more {
		out.Body.Cursor = api.OrderedCursor(f.Oldest, api.NumberCursor(list[len(list)-1].Seq))
	}
	out.Body.Changes = make([]wire.AuditChangeForm, len(list))
	for i := range list {
		out.Body.Changes[i] = newAuditChangeForm(&list[i])
	}
	return out, nil
}

func newAuditChangeForm(c *ledger.Change) wire.AuditChangeForm {
	return wire.AuditChangeForm{
		ID: c.Seq, At: c.At.UTC(), By: c.By, Via: string(c.Via), Action: c.Action, Object: c.Object,
		Before: wire.AuditState(c.Before), After: wire.AuditState(c.After), Reason: c.Reason,
	}
}

// auditName matches every object, action and name that a record can have.
var auditName = regexp.MustCompile(`^[^\x00-\x1f]{0,300}$`)

func (in *auditInput) parse(now time.Time) (ledger.ChangeFilter, *wire.Problem) {
	f := ledger.ChangeFilter{Object: in.Object, By: in.By, Action: in.Action}
	for _, given := range [][2]string{{"object", in.Object}, {"by", in.By}, {"action", in.Action}} {
		if !auditName.MatchString(given[1]) {
			return f, api.BadParameter(given[0] + " " + policy.Quote(given[1]) + " is not a valid name")
		}
	}
	var prob *wire.Problem
	if f.Limit, prob = in.Limit.Parse(); prob != nil {
		return f, prob
	}
	if in.Since != "" {
		if ago, err := strictyaml.ParseDuration(in.Since); err == nil {
			f.Since = now.Add(-ago)
		} else if f.Since, err = time.Parse(time.RFC3339, in.Since); err != nil {
			return f, wire.NewProblem(http.StatusBadRequest, wire.CodeBadSince, "since "+policy.Quote(in.Since)+" is neither a time such as 2026-06-01T00:00:00Z nor a duration such as 7d")
		}
	}
	if f.Oldest, prob = in.Order.Parse(); prob != nil {
		return f, prob
	}
	cursor, prob := api.ParseOrderedCursor(f.Oldest, in.After)
	if prob != nil {
		return f, prob
	}
	last, ok := api.ParseNumberCursor(cursor)
	if !ok {
		return f, wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after "+policy.Quote(in.After)+" is not a cursor of this list")
	}
	if f.Oldest {
		f.Behind = last
	} else {
		f.Before = last
	}
	return f, nil
}
