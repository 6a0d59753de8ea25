package tool

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

//go:embed ctx_reduce.md
var reduceDescription string

var reduceTool = tool{
	name: mode.ReduceTool, description: reduceDescription, run: (*Tools).reduce,
	parameters: json.Value(`{"type":"object","properties":{"drop":{"type":"string",` +
		`"description":"Tags to mark: \"12\", \"12-15\" or \"3,7,12-15\"."}},"required":["drop"],"additionalProperties":false}`),
	isOffered: func(cfg schema.Config) bool { return cfg.CtxReduceEnabled },
}

const reduceTitle = "marked"

// reduce marks units for removal. It stores its reply together with the drops: if the reply does not reach the shim,
// the shim calls again, and must get the same text.
func (t *Tools) reduce(ctx context.Context, key store.Key, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return schema.ToolExecuteResult{}, err
	}
	defer s.Unlock()
	reply, err := t.queueDrops(ctx, s, p)
	t.Guard.Wrote(err)
	return schema.ToolExecuteResult{Title: reduceTitle, Output: reply}, err
}

func (t *Tools) queueDrops(ctx context.Context, s *session.Session, p schema.ToolExecuteParams) (string, error) {
	if reply, found, err := t.Store.ToolReply(ctx, s.Key, p.CallID); err != nil || found {
		return reply, err
	}
	tags, err := dropArgument(p.Args)
	if err != nil {
		return "Error: " + err.Error(), nil
	}
	state, err := t.Sessions.StateOf(ctx, s)
	if err != nil {
		return "", err
	}
	now := t.Clock.Now()
	knobs := rule.Knobs{ProtectedTags: t.Clients.Config(s.Key.Harness, p.Directory).ProtectedTags}
	isGone := func(u *frozen.Unit) bool { return s.Pipe != nil && !s.Pipe.Has(u.MessageKey) }
	drops, reply := queueable(state, isGone, tags, knobs, now)
	rows := make([]store.DropRow, len(drops))
	for i, d := range drops {
		rows[i] = store.DropRow{Tag: d.Tag, UnitKey: d.Key, QueuedAt: d.QueuedAt}
	}
	if err := t.Store.QueueDrops(ctx, s.Key, session.RowsFromUnits(s.Unsaved), rows, store.ToolReplyRow{CallID: p.CallID, Reply: reply, At: now}); err != nil {
		return "", err
	}
	s.Unsaved = nil
	state.Enqueue(drops...)
	return reply, nil
}

// dropArgument reads the tags from the arguments of a call. It has to check the arguments, because not every harness
// does so.
func dropArgument(args json.Value) ([]int, error) {
	var a struct {
		Drop *string `json:"drop"`
	}
	if err := json.Unmarshal(args, &a); err != nil || a.Drop == nil {
		return nil, fmt.Errorf(`drop must be a string such as "12", "12-15" or "3,7,12-15"`)
	}
	tags, err := parseTags(*a.Drop)
	if err != nil {
		return nil, fmt.Errorf(`drop cannot be read: %w; write it as "12", "12-15" or "3,7,12-15"`, err)
	}
	return tags, nil
}

// queueable returns the drops to queue, and the reply to the model. If one of the tags belongs to no unit, queueable
// returns no drops. isGone reports whether the message of a unit has left the conversation, for example because the
// user has gone to another branch. For such a unit, queueable returns no drop either, because the drop would wait for
// ever and free nothing.
func queueable(state *frozen.State, isGone func(*frozen.Unit) bool, tags []int, k rule.Knobs, now int64) ([]frozen.QueuedDrop, string) {
	var unknown, ready, later []int
	settled, kept := 0, 0
	for _, tag := range tags {
		u := state.ByTag(tag)
		switch {
		case u == nil:
			unknown = append(unknown, tag)
		case !u.Active() || isGone(u) || state.Queued(tag):
			settled++
		case u.Kept != 0:
			kept++
		case rule.IsProtected(state, tag, k):
			later = append(later, tag)
		default:
			ready = append(ready, tag)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Sprintf("Error: there is no %s. Nothing was marked.", list(unknown))
	}
	var drops []frozen.QueuedDrop
	for _, tag := range append(append([]int(nil), ready...), later...) {
		drops = append(drops, frozen.QueuedDrop{Tag: tag, Key: state.ByTag(tag).Key, QueuedAt: now})
	}
	var parts []string
	if len(ready) > 0 {
		parts = append(parts, "Marked: "+list(ready)+".")
	}
	if len(later) > 0 {
		parts = append(parts, "Marked for later, because among the newest "+strconv.Itoa(k.ProtectedTags)+": "+list(later)+".")
	}
	if kept > 0 {
		parts = append(parts, fmt.Sprintf("%d stay: the user keeps them.", kept))
	}
	if settled > 0 {
		parts = append(parts, fmt.Sprintf("%d needed nothing.", settled))
	}
	if len(drops) == 0 {
		parts = append(parts, "Nothing to do.")
	}
	return drops, strings.Join(parts, " ")
}

// list writes tags without section signs. With them, a model could mistake the reply for tagged content.
func list(tags []int) string {
	texts := make([]string, len(tags))
	for i, t := range tags {
		texts[i] = strconv.Itoa(t)
	}
	return strings.Join(texts, ", ")
}
