package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/store/index"
)

// The function `beside` calls `yield` for each pair of messages of the same session that are at most `far` messages
// apart. A prompt and its answer have the distance 1, even if many tool calls come between them.
func beside(all []*scored, far int, yield func(a, b *scored, distance float64)) {
	all = slices.DeleteFunc(slices.Clone(all), func(h *scored) bool { // leave out commits, and also files, because a file moves to its last use
		return h.Kind == index.Read || h.Kind == index.Write || h.Kind == index.Commit
	})
	slices.SortStableFunc(all, func(a, b *scored) int {
		return cmp.Or(cmp.Compare(a.Session.Harness, b.Session.Harness), cmp.Compare(a.Session.ID, b.Session.ID), cmp.Compare(a.Last, b.Last))
	})
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.Session.ID != a.Session.ID || b.Session.Harness != a.Session.Harness || b.Last-a.Last > max(far, longTurn) {
				break
			}
			switch distance := b.Last - a.Last; {
			case answers(b, a):
				yield(a, b, 1)
			case distance <= far:
				yield(a, b, float64(max(1, distance)))
			}
		}
	}
}

// The function `answers` reports whether the agent wrote `text` as the answer to `prompt`. It can compare them, because
// the index stores the beginning of the prompt as the answer's context.
func answers(text, prompt *scored) bool {
	return text.Kind == index.Text && text.Role == index.Agent && text.Context != "" &&
		prompt.Kind == index.Text && prompt.Role == index.User && strings.HasPrefix(prompt.Text, text.Context)
}

// The function `neighbours` fills the field `near` of each candidate. A candidate gets a part of the term scores of the
// candidates next to it in the session.
func neighbours(all []scored) {
	order := make([]*scored, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	beside(order, far, func(a, b *scored, distance float64) {
		for t := range a.own {
			a.near[t] = max(a.near[t], nearby/distance*b.own[t])
			b.near[t] = max(b.near[t], nearby/distance*a.own[t])
		}
	})
}

// The function `move` raises the score of a message if a message near it has a better one. It also raises the score of
// a commit if there is a better message in the commit's project in the hour before the commit.
func move(hits []*scored) {
	was := make(map[*scored]float64, len(hits))
	for _, h := range hits {
		was[h] = h.total
	}
	towards := func(h, o *scored, share float64) {
		h.total = max(h.total, was[h]+share*(was[o]-was[h]))
	}
	beside(hits, farthest, func(a, b *scored, distance float64) {
		if a.Last != b.Last {
			towards(a, b, answer/distance)
			towards(b, a, answer/distance)
		}
	})
	for _, c := range hits {
		if c.Kind != index.Commit {
			continue
		}
		for _, h := range hits {
			if h.Kind != index.Commit && h.Session.Project == c.Session.Project && h.At <= c.At && c.At-h.At < commitsAfter {
				towards(c, h, answer)
			}
		}
	}
}
