package operate

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/logging"
	"tallyman/internal/wire"
)

// Log is the log of the node that answers.
type Log struct {
	Node       string
	Level      *slog.LevelVar // Level of the log; an operator can change the level while the node runs.
	Configured slog.Level     // Level in the configuration.
}

// form returns the present level of the log and the level in the configuration.
func (l *Log) form() wire.LogForm {
	return wire.LogForm{Node: l.Node, Level: logging.LevelName(l.Level.Level()), Configured: logging.LevelName(l.Configured)}
}

func (h *Handlers) registerLog(operations huma.API) {
	get := api.Operation("get-log", http.MethodGet, "/log", "operations", "Show the level of the answering node's log")
	huma.Register(operations, get, h.getLog)
	set := api.Operation("set-log-level", http.MethodPost, "/log/level", "operations", "Change the level of the answering node's log")
	set.Description = "The level counts at once, on the answering node alone, until that node is started again: then the level of the configuration counts."
	huma.Register(operations, set, h.setLogLevel)
}

type (
	logLevelInput struct{ Body wire.LogLevelAskForm }
	logOutput     struct{ Body wire.LogForm }
)

// getLog answers GET /log.
func (h *Handlers) getLog(context.Context, *struct{}) (*logOutput, error) {
	return &logOutput{Body: h.deps.Log.form()}, nil
}

// logState is a level of the log in an audit record.
type logState struct {
	Level string `json:"level"`
}

// setLogLevel answers POST /log/level, for callers who see all warehouses. The change is recorded before it is made.
func (h *Handlers) setLogLevel(ctx context.Context, in *logLevelInput) (*logOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	level, ok := logging.ParseLevel(in.Body.Level)
	if !ok { // The schema of the body has checked the level already.
		return nil, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "level: there is no such level")
	}
	before := h.deps.Log.form()
	err := api.Record(ctx, h.deps.Audit, &ledger.Change{
		Action: "log.level", Object: "log:" + h.deps.Log.Node,
		Before: api.StateJSON(logState{before.Level}), After: api.StateJSON(logState{in.Body.Level}),
	})
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelWarn, "Log level changes.", slog.String("from", before.Level), slog.String("to", in.Body.Level), slog.String("by", auth.From(ctx).Subject))
	h.deps.Log.Level.Set(level)
	return &logOutput{Body: h.deps.Log.form()}, nil
}
