package host

import (
	"context"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// The commands that a user may type.
const (
	commandFlush  = "ctx-flush"
	commandStatus = "ctx-status"
)

var commands = []schema.CommandDefinition{
	{Name: commandFlush, Description: "Apply all queued context reductions with the next message"},
	{Name: commandStatus, Description: "Show how full the context is and what waits to be reduced"},
}

// CommandExecute runs a command for the user.
func (h *Host) CommandExecute(ctx context.Context, c Client, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	key, err := h.key(c, p.Session)
	if err != nil {
		return none, err
	}
	switch p.Command {
	case commandFlush:
		s, err := h.sessions.lock(ctx, key)
		if err != nil {
			return none, err
		}
		defer s.unlock()
		if err := h.Store.RequestFlush(ctx, key, h.Clock.Now()); err != nil {
			h.stored(err)
			return none, err
		}
		s.row.ExplicitFlush = true
		return schema.CommandExecuteResult{
			Title: "magicctx", Variant: "success",
			Message: "Queued reductions are applied with the next request; the newest tags stay protected.",
		}, nil
	case commandStatus:
		st, err := h.SessionStatus(ctx, c, schema.SessionStatusParams{Harness: schema.Harness(key.Harness), Session: key.Session})
		if err != nil {
			return none, err
		}
		return schema.CommandExecuteResult{Title: "magicctx", Variant: "info", Message: sentence(st)}, nil
	}
	return none, invalid("there is no command %q", p.Command)
}

func sentence(s schema.SessionStatus) string {
	window := "window unknown"
	if s.ContextTokens > 0 {
		window = fmt.Sprintf("%.0f%% of %d tokens", s.Pressure*100, s.ContextTokens)
	}
	text := fmt.Sprintf("Context: %d tokens (%s). %d units, %d dropped, %d queued. %d passes, %d busts.",
		s.InputTokens, window, s.Units, s.Dropped, s.Queued, s.Passes, s.Busts)
	if s.CacheLifeReason == "" {
		return text
	}
	return text + fmt.Sprintf(" Cache life %s (%s).", format.Span(time.Duration(s.CacheLifeMS)*time.Millisecond), s.CacheLifeReason)
}
