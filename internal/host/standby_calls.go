package host

import (
	"context"

	"github.com/magicctx/magicctx-host/schema"
)

// with passes a call on to the host, if there is one.
func with[P, R any](ctx context.Context, s *Standby, c Client, p P, call func(*Host, context.Context, Client, P) (R, error)) (R, error) {
	var none R
	if err := s.gate.Acquire(ctx, 1); err != nil {
		return none, waited(err)
	}
	defer s.gate.Release(1)
	if s.host == nil {
		return none, disabled(s.reason)
	}
	return call(s.host, ctx, c, p)
}

// Transform calls the host. If the pass finds the database damaged, Transform
// has the database replaced and runs the pass again over an empty one. The user
// then hears of the damage once. A pass with a base gets a resync, because the
// new host does not hold that base.
func (s *Standby) Transform(ctx context.Context, c Client, p schema.TransformParams) (schema.WireMutation, error) {
	var over *Host
	pass := func(h *Host, ctx context.Context, c Client, p schema.TransformParams) (schema.WireMutation, error) {
		over = h
		return h.Transform(ctx, c, p)
	}
	m, err := with(ctx, s, c, p, pass)
	if err == nil || over == nil || !over.isDamaged.Load() {
		return m, err
	}
	s.replaceDamaged(ctx, c, p.Directory)
	return with(ctx, s, c, p, pass)
}

// System calls the host.
func (s *Standby) System(ctx context.Context, c Client, p schema.SystemParams) (schema.SystemResult, error) {
	return with(ctx, s, c, p, (*Host).System)
}

// Event calls the host.
func (s *Standby) Event(ctx context.Context, c Client, p schema.EventParams) (schema.Empty, error) {
	return with(ctx, s, c, p, (*Host).Event)
}

// ChatMessage calls the host.
func (s *Standby) ChatMessage(ctx context.Context, c Client, p schema.ChatMessageParams) (schema.ChatMessageResult, error) {
	return with(ctx, s, c, p, (*Host).ChatMessage)
}

// TextComplete calls the host.
func (s *Standby) TextComplete(ctx context.Context, c Client, p schema.TextCompleteParams) (schema.TextCompleteResult, error) {
	return with(ctx, s, c, p, (*Host).TextComplete)
}

// ToolBefore calls the host.
func (s *Standby) ToolBefore(ctx context.Context, c Client, p schema.ToolBeforeParams) (schema.ToolBeforeResult, error) {
	return with(ctx, s, c, p, (*Host).ToolBefore)
}

// ToolAfter calls the host.
func (s *Standby) ToolAfter(ctx context.Context, c Client, p schema.ToolAfterParams) (schema.ToolAfterResult, error) {
	return with(ctx, s, c, p, (*Host).ToolAfter)
}

// ToolExecute calls the host.
func (s *Standby) ToolExecute(ctx context.Context, c Client, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	return with(ctx, s, c, p, (*Host).ToolExecute)
}

// CommandExecute calls the host.
func (s *Standby) CommandExecute(ctx context.Context, c Client, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	return with(ctx, s, c, p, (*Host).CommandExecute)
}

// SessionStatus calls the host.
func (s *Standby) SessionStatus(ctx context.Context, c Client, p schema.SessionStatusParams) (schema.SessionStatus, error) {
	return with(ctx, s, c, p, (*Host).SessionStatus)
}

// Subscribe calls the host.
func (s *Standby) Subscribe(ctx context.Context, c Client, p schema.SubscribeParams) (schema.Empty, error) {
	return with(ctx, s, c, p, (*Host).Subscribe)
}
