package status

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

const shownDrops = 8

func (sb *Statuses) Describe(ctx context.Context, key store.Key) (schema.CommandExecuteResult, error) {
	report, found, err := sb.Store.Reports.Of(ctx, key)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	result := schema.CommandExecuteResult{Title: "magicctx", Variant: "info", Stays: true, Message: "This session has sent no request through magicctx yet."}
	if !found || report.Passes == 0 {
		return result, nil
	}
	st := sb.statusOf(ctx, report)
	units, summarised, err := sb.returnable(ctx, key, st.Head)
	if err != nil {
		return result, err
	}
	now := time.UnixMilli(sb.Clock.Now())
	lines := []string{contextOf(st)}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, strings.ToUpper(label[:1])+label[1:]+": "+text)
		}
	}
	add("in it", words.Contents(st))
	for _, f := range words.Facts(st, now) {
		add(f.Label, f.Text)
	}
	promises, err := sb.Store.Memories.Promises(ctx, report.Project, math.MaxInt64)
	if err != nil {
		return result, err
	}
	result.Message = strings.Join(slices.Concat(lines, promisesOf(promises), dropsOf(st.Session, units, now), words.Summarised(summarised)), "\n")
	return result, nil
}

// The status shows at most maxPromises promises. The command `magicctx-host notes` lists all of them.
const maxPromises = 5

func promisesOf(open []chronicle.Note) (lines []string) {
	if len(open) == 0 {
		return nil
	}
	lines = []string{fmt.Sprintf("Still open: %s. %s notes done NUMBER closes one.", format.Count(len(open), "promise"), program.Name())}
	for _, n := range slices.Backward(open[max(0, len(open)-maxPromises):]) {
		who := "you"
		if n.SaidBy == chronicle.ByAgent {
			who = "the agent"
		}
		lines = append(lines, fmt.Sprintf("%d (%s, message %d): %s", n.ID, who, n.Message, format.Clean(format.Shorten(n.Content, 120))))
	}
	return lines
}

func contextOf(s schema.SessionStatus) string {
	size := "the window is unknown"
	if s.ContextTokens > 0 {
		size = fmt.Sprintf("%s of %s", format.Percent(s.Pressure), format.Tokens(s.ContextTokens))
	}
	return fmt.Sprintf("Context: %s tokens (%s)", format.Tokens(s.InputTokens), size)
}

// pieceOf describes a dropped piece, for example "§6§ read main.go: 1.2k tokens, 3m ago, stale output".
func pieceOf(u schema.DroppedUnit, now time.Time) string {
	text := fmt.Sprintf("%s: %s tokens", format.Piece(u.Tag, cmp.Or(u.Tool, u.Kind), u.About), format.Tokens(u.Tokens))
	if u.At > 0 {
		text += ", " + format.AgeOf(u.At, now) + " ago"
	}
	if u.Rule != "" {
		text += ", " + words.RuleName(u.Rule)
	}
	return text
}

func dropsOf(session string, units []schema.DroppedUnit, now time.Time) (lines []string) {
	if len(units) > 0 {
		lines = []string{"Taken out of the prompt. /ctx-menu taken brings a piece back:"}
	}
	for i, u := range units {
		if i == shownDrops {
			more := len(units) - shownDrops
			return append(lines, fmt.Sprintf("… %d more: %s status %s --dropped", more, program.Name(), format.Clean(session)))
		}
		lines = append(lines, pieceOf(u, now))
	}
	return lines
}
