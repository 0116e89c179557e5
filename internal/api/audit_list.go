package api

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/rules/strictyaml"
)

type (
	auditInput struct {
		Object string        `query:"object" doc:"changes of this, or of what begins with it: rule, rule:negative-bin-stock, queue:replenishment" example:"rule:negative-bin-stock"`
		By     string        `query:"by" doc:"made by this one" example:"user:ann"`
		Action string        `query:"action" doc:"this was done, or what begins with it: rule, rule.disable" example:"rule.disable"`
		Since  string        `query:"since" doc:"made then or later: RFC 3339, or so long ago, as 7d" example:"7d"`
		After  string        `query:"after" doc:"the cursor of the page before"`
		Limit  limit[ofList] `query:"limit" doc:"changes in a page, which ends sooner where their states are large"`
	}
	auditOutput struct{ Body AuditForm }
)

// AuditForm is a page of changes.
type AuditForm struct {
	XMLName xml.Name          `json:"-" xml:"audit"`
	Changes []AuditChangeForm `json:"changes" xml:"change" doc:"the latest first" nullable:"false"`
	Cursor  string            `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are earlier ones: ask with it as after"`
}

// AuditChangeForm is something that somebody changed.
type AuditChangeForm struct {
	ID     int64     `json:"id" xml:"id,attr"`
	At     time.Time `json:"at" xml:"at"`
	By     string    `json:"by" xml:"by" doc:"user:<id>, service:<id>, local:<user> of who has opened the ledger itself, or node:<name> of what no person asked for"`
	Via    string    `json:"via" xml:"via" doc:"how they were authenticated: token:<id> of an API token, jwt, none (auth.mode none), or local, a user of the machine who has opened the ledger itself; file and start: rule files that were read, and a node that has started. Older records have api or cli, which the client said of itself" example:"token:t_5rmwxhkqj2ab"`
	Action string    `json:"action" xml:"action" example:"rule.disable"`
	Object string    `json:"object" xml:"object" example:"rule:negative-bin-stock"`
	Before State     `json:"before,omitempty" xml:"before,omitempty" doc:"the state before; absent where there was none or it does not matter"`
	After  State     `json:"after,omitempty" xml:"after,omitempty" doc:"the state after, or what was asked and done"`
	Reason string    `json:"reason,omitempty" xml:"reason,omitempty"`
}

// State is a state as JSON. In XML it is the JSON text.
type State json.RawMessage

// MarshalJSON writes it as it is.
func (s State) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// UnmarshalJSON keeps it as it is.
func (s *State) UnmarshalJSON(data []byte) error { return (*json.RawMessage)(s).UnmarshalJSON(data) }

// MarshalXML writes its text.
func (s State) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(string(s), start)
}

// Schema says that it is any value.
func (State) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value; in XML its JSON text. Older records tell one of more than 64 KB by its size"}
}

func (a *API) registerAudit(operations huma.API) {
	list := operation("list-audit", http.MethodGet, "/audit", "operations", "List who changed what, the latest first")
	list.Description = "Every change of settings has a record, which is made with it or not at all, and which nobody can change or remove. What is data has none: notices, readers' marks, the work on items."
	huma.Register(operations, list, a.listAudit)
}

// listAudit answers GET /audit. Records are not of one warehouse, so they are for those who see all.
func (a *API) listAudit(ctx context.Context, in *auditInput) (*auditOutput, error) {
	if !auth.From(ctx).Everywhere() {
		return nil, denied(CodeWarehouseDenied, "the records are of all warehouses, and your token is not")
	}
	f, prob := in.parse(time.Now())
	if prob != nil {
		return nil, prob
	}
	list, more, err := a.deps.Audit.Changes(ctx, f)
	if err != nil {
		return nil, a.ledgerFailed(ctx, err)
	}
	out := &auditOutput{}
	if more {
		out.Body.Cursor = strconv.FormatInt(list[len(list)-1].Seq, 10)
	}
	out.Body.Changes = make([]AuditChangeForm, len(list))
	for i := range list {
		out.Body.Changes[i] = newAuditChangeForm(&list[i])
	}
	return out, nil
}

func newAuditChangeForm(c *ledger.Change) AuditChangeForm {
	return AuditChangeForm{
		ID: c.Seq, At: c.At.UTC(), By: c.By, Via: string(c.Via), Action: c.Action, Object: c.Object,
		Before: State(c.Before), After: State(c.After), Reason: c.Reason,
	}
}

// auditName is what an object, an action or a name may be made of: nothing else was ever recorded.
var auditName = regexp.MustCompile(`^[^\x00-\x1f]{0,300}$`)

func (in *auditInput) parse(now time.Time) (ledger.ChangeFilter, *Problem) {
	f := ledger.ChangeFilter{Object: in.Object, By: in.By, Action: in.Action}
	for name, value := range map[string]string{"object": in.Object, "by": in.By, "action": in.Action} {
		if !auditName.MatchString(value) {
			return f, badParameter(name + " " + quote(value) + " cannot be the name of one")
		}
	}
	var prob *Problem
	if f.Limit, prob = in.Limit.parse(); prob != nil {
		return f, prob
	}
	if in.Since != "" {
		if ago, err := strictyaml.ParseDuration(in.Since); err == nil {
			f.Since = now.Add(-ago)
		} else if f.Since, err = time.Parse(time.RFC3339, in.Since); err != nil {
			return f, newProblem(http.StatusBadRequest, CodeBadSince, "since "+quote(in.Since)+" is neither a time such as 2026-06-01T00:00:00Z nor a duration such as 7d")
		}
	}
	if in.After != "" {
		var err error
		if f.Before, err = strconv.ParseInt(in.After, 10, 64); err != nil || f.Before < 1 {
			return f, newProblem(http.StatusBadRequest, CodeBadCursor, "after "+quote(in.After)+" is not a cursor of this list")
		}
	}
	return f, nil
}
