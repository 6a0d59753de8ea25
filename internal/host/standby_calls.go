package host

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// with hands a call to the host, if there is one.
func with[P, R any](ctx context.Context, s *Standby, c Client, p P, call func(*Host, context.Context, Client, P) (R, error)) (R, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.host == nil {
		var none R
		return none, disabled(s.reason)
	}
	return call(s.host, ctx, c, p)
}

// Transform is that of the host.
func (s *Standby) Transform(ctx context.Context, c Client, p schema.TransformParams) (schema.WireMutation, error) {
	return with(ctx, s, c, p, (*Host).Transform)
}

// System is that of the host.
func (s *Standby) System(ctx context.Context, c Client, p schema.SystemParams) (schema.SystemResult, error) {
	return with(ctx, s, c, p, (*Host).System)
}

// Event is that of the host.
func (s *Standby) Event(ctx context.Context, c Client, p schema.EventParams) (schema.Empty, error) {
	return with(ctx, s, c, p, (*Host).Event)
}

// ChatMessage is that of the host.
func (s *Standby) ChatMessage(ctx context.Context, c Client, p schema.ChatMessageParams) (schema.ChatMessageResult, error) {
	return with(ctx, s, c, p, (*Host).ChatMessage)
}

// TextComplete is that of the host.
func (s *Standby) TextComplete(ctx context.Context, c Client, p schema.TextCompleteParams) (schema.TextCompleteResult, error) {
	return with(ctx, s, c, p, (*Host).TextComplete)
}

// ToolBefore is that of the host.
func (s *Standby) ToolBefore(ctx context.Context, c Client, p schema.ToolBeforeParams) (schema.ToolBeforeResult, error) {
	return with(ctx, s, c, p, (*Host).ToolBefore)
}

// ToolAfter is that of the host.
func (s *Standby) ToolAfter(ctx context.Context, c Client, p schema.ToolAfterParams) (schema.ToolAfterResult, error) {
	return with(ctx, s, c, p, (*Host).ToolAfter)
}

// ToolExecute is that of the host.
func (s *Standby) ToolExecute(ctx context.Context, c Client, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	return with(ctx, s, c, p, (*Host).ToolExecute)
}

// CommandExecute is that of the host.
func (s *Standby) CommandExecute(ctx context.Context, c Client, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	return with(ctx, s, c, p, (*Host).CommandExecute)
}

// SessionStatus is that of the host.
func (s *Standby) SessionStatus(ctx context.Context, c Client, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	return with(ctx, s, c, p, (*Host).SessionStatus)
}

// Subscribe is that of the host.
func (s *Standby) Subscribe(ctx context.Context, c Client, p schema.SubscribeParams) (schema.Empty, error) {
	return with(ctx, s, c, p, (*Host).Subscribe)
}
