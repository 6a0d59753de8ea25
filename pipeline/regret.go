package pipeline

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// If the model reads removed content again within SoonPasses passes, the removal was a mistake. To keep the content for
// 20 passes, the session would have read it 20 times from the cache, at a tenth of the price of fresh tokens. In sum,
// this costs twice that price. If removed content comes back, it is written to the cache once, at 1.25 times that
// price. So if it comes back after 20 passes or more, the removal was cheaper.
const SoonPasses = 20

type Reread struct {
	Tag int
	// MessageKey is the key of the unit's message. Tokens is the size of the content that was read again.
	MessageKey string
	Tokens     int
}

type Expansion struct {
	// Start and End are the ordinals of the first and the last message that the call of ctx_expand shows. Tokens is the
	// size of the call's result.
	Start, End, Tokens int

	tag int
}

// noteExpansion stores a call of ctx_expand that shows the content of this session's messages.
func (s *Session) noteExpansion(tag int, p *transcript.Part) {
	if p.Kind != transcript.Tool || transcript.ToolName(p.Name) != transcript.ExpandTool || p.IsError || !p.HasResult() {
		return
	}
	var asked struct {
		Start   int    `json:"start"`
		End     int    `json:"end"`
		Outline bool   `json:"outline"`
		Session string `json:"session"`
	}
	if json.Unmarshal(p.Input, &asked) == nil && !asked.Outline && asked.Session == "" && asked.Start > 0 {
		s.expansions = append(s.expansions, Expansion{asked.Start, max(asked.Start, asked.End), s.State.ByTag(tag).Tokens, tag})
	}
}

// Rereads returns removed units that the model has read again: a call of the newest Update has the same tool and
// arguments as the removed call. It also returns the calls of ctx_expand in this Update, except repetitions. Rereads
// ignores these calls:
//
//   - a call that failed, and a repetition of a failed call;
//   - a call whose newest earlier result is still on the wire;
//   - a read of a file that the model has changed in the meantime, because the model looks at something new;
//   - for the same reason, any other call if any file was changed in the meantime;
//   - a command that the model has run more than once before: it repeats such a command from habit, for example
//     "git status".
//
// Rereads is fast in most passes: it searches the older messages only if a call of this Update has occurred before.
func (s *Session) Rereads() (rereads []Reread, expansions []Expansion) {
	isFresh := map[uint64]bool{} // the calls of this pass; if a call occurs twice in it, the earlier one is new, too, and so not removed
	for i := range s.entries[min(s.updatedFrom, len(s.entries)):] {
		for _, it := range s.entries[s.updatedFrom+i].items {
			if it.Tag < s.freshFrom || it.Again == 0 || s.calls[it.Again] < 2 || it.Failed || it.Open || isFresh[it.Again] {
				continue
			}
			isFresh[it.Again] = true
			if u := s.removedBefore(it); u != nil {
				rereads = append(rereads, Reread{u.Tag, u.MessageKey, u.Tokens})
			}
		}
	}
	for _, x := range s.expansions {
		if !s.isRepeated(x.tag) {
			expansions = append(expansions, x)
		}
	}
	return rereads, expansions
}

// removedBefore finds the newest earlier call with the same tool and arguments. It returns the unit of this call if the
// call was removed and the model needs its result again, and otherwise nil.
func (s *content) removedBefore(again rule.Item) *frozen.Unit {
	var found *rule.Item
	times, isChanged := 0, false
	s.eachItemBefore(again.Tag, func(it *rule.Item) {
		switch {
		case it.Again == again.Again && !it.Failed && !it.Open:
			found, isChanged = it, false
			times++
		case it.Changes && !it.Failed && (it.Path == "" || again.Path == "" || it.Path == again.Path):
			isChanged = true
		}
	})
	isHabit := again.Path == "" && times > 1
	if found == nil || isChanged || isHabit {
		return nil
	}
	if u := s.State.ByTag(found.Tag); u != nil && !u.Active() {
		return u
	}
	return nil
}

func (s *Session) isRepeated(tag int) (is bool) {
	var call uint64
	s.eachItemBefore(tag+1, func(it *rule.Item) {
		if it.Tag == tag {
			call = it.Again
		}
	})
	if s.calls[call] < 2 {
		return false
	}
	s.eachItemBefore(tag, func(it *rule.Item) { is = is || it.Again == call && !it.Failed })
	return is
}

func (s *array) eachItemBefore(tag int, f func(*rule.Item)) {
	for i := range s.entries {
		for j := range s.entries[i].items {
			if it := &s.entries[i].items[j]; it.Tag < tag {
				f(it)
			}
		}
	}
}

// RemovedIn returns the units of these messages that are not on the wire. The model has read them again with
// ctx_expand, whose result has `tokens` tokens. RemovedIn stops when its units reach this size, because the result
// cannot contain more.
func (s *content) RemovedIn(messageKeys []string, tokens int) (removed []Reread) {
	for _, key := range messageKeys {
		i, ok := s.index[key]
		if !ok {
			continue
		}
		for _, it := range s.entries[i].items {
			u := s.State.ByTag(it.Tag)
			if u == nil || u.Active() || tokens <= 0 {
				continue
			}
			removed = append(removed, Reread{u.Tag, u.MessageKey, min(u.Tokens, tokens)})
			tokens -= u.Tokens
		}
	}
	return removed
}
