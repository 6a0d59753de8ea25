package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/magicctx/magicctx-host/internal/tokens"
)

// calls is how many tools the model calls in each turn, one a step.
const calls = 5

// Sizes in tokens, of internal/tokens. With the system prompt and the tools
// (about 7 k) the texts of 60 turns fill four fifths of a window of 64 k; with
// call and result a step adds about 1.1 k.
const (
	promptTokens     = 110
	stepTokens       = 85
	conclusionTokens = 160
	summaryTokens    = 1_200
)

// linesPerCall is how much of a file a call shows, about 3 KB.
const linesPerCall = 42

// A story is what user and model say and do. All of it is a function of the
// project's path and the number of turns.
type story struct {
	project string // absolute path
	turns   int
}

// A place is how far a conversation has come: turns count from 1; the step is 0
// when the user has prompted, then that of the newest call, and done after the
// answer.
type place struct{ turn, step int }

const done = calls + 1

func (p place) isBefore(q place) bool {
	return p.turn < q.turn || p.turn == q.turn && p.step < q.step
}

// An answer is what the model says, and the tool that it calls, if any.
type answer struct {
	text  string
	tool  string
	id    string
	input map[string]any
}

// prompt is what the user says to begin a turn.
func (s story) prompt(turn int) string {
	return fmt.Sprintf("Turn %d: ", turn) + prose(promptTokens, 1, turn)
}

// after is what the model answers when the conversation has come to p. It is
// also asked when a turn is done: OpenCode asks it to go on after a compaction.
func (s story) after(p place) answer {
	switch {
	case p.step < calls:
		return s.call(place{p.turn, p.step + 1})
	case p.step == calls:
		return answer{text: fmt.Sprintf("Turn %d is done: ", p.turn) + prose(conclusionTokens, 2, p.turn)}
	}
	return answer{text: "Nothing is left to do before the next prompt."}
}

// call reads the turn's own file piece by piece, so that no two calls of a
// session are equal. Every third turn one piece is searched for instead, with
// grep from the shell: OpenCode's own grep tool downloads ripgrep.
func (s story) call(p place) answer {
	a := answer{
		text: fmt.Sprintf("Turn %d, step %d: ", p.turn, p.step) + prose(stepTokens, 3, p.turn*10+p.step),
		id:   fmt.Sprintf("toolu_turn%03d_step%d", p.turn, p.step),
	}
	path := filepath.Join(s.project, fileName(p.turn))
	if p.turn%3 == 0 && p.step == 4 {
		a.tool, a.input = "bash", map[string]any{
			"command": fmt.Sprintf("grep -n '^%s' %s", piece(p), path), "description": "Find the entries of a piece",
		}
		return a
	}
	a.tool, a.input = "read", map[string]any{"filePath": path, "offset": (p.step-1)*linesPerCall + 1, "limit": linesPerCall}
	return a
}

// summary answers OpenCode's own compaction of a conversation that had come to p.
// It says so, because nothing else may be left that does.
func (s story) summary(p place) answer {
	return answer{text: fmt.Sprintf("## Goal\nThe user has the ledgers of a town read.\n\n## Progress\nTurn %d, step %d was the last.\n\n## Notes\n",
		p.turn, p.step) + prose(summaryTokens, 4, p.turn)}
}

// title answers the request for a title.
func (s story) title() answer { return answer{text: "Ledgers of a town"} }

// files are the project: one file for each turn.
func (s story) files() map[string]string {
	files := map[string]string{}
	for turn := 1; turn <= s.turns; turn++ {
		r := random(5, turn)
		var b strings.Builder
		for step := 1; step <= calls; step++ {
			for line := range linesPerCall {
				fmt.Fprintf(&b, "%s %02d %s %d/%d/%d\n", piece(place{turn, step}), line, words(r, 6), r.IntN(1e4), r.IntN(1e3), r.IntN(1e3))
			}
		}
		files[fileName(turn)] = b.String()
	}
	return files
}

func fileName(turn int) string { return fmt.Sprintf("ledgers/ledger-%03d.txt", turn) }

// piece begins the lines of what one call shows.
func piece(p place) string { return fmt.Sprintf("entry %d.%d", p.turn, p.step) }

func random(kind, n int) *rand.Rand { return rand.New(rand.NewPCG(uint64(kind), uint64(n))) }

// prose returns sentences of at least so many tokens.
func prose(size, kind, n int) string {
	r := random(kind, n)
	var b strings.Builder
	for have := 0; have < size; {
		sentence := words(r, 6+r.IntN(9))
		sentence = strings.ToUpper(sentence[:1]) + sentence[1:] + ". "
		have += tokens.Count(sentence)
		b.WriteString(sentence)
	}
	return strings.TrimRight(b.String(), " ")
}

func words(r *rand.Rand, n int) string {
	chosen := make([]string, n)
	for i := range chosen {
		chosen[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(chosen, " ")
}

var vocabulary = strings.Fields(`harbour lantern orchard timber saddle copper granary mill parish ferry
	tariff barley anchor candle quarry bridge weaver cooper tanner mason baker miller
	carries settles follows counts weighs repairs borrows returns records inspects delivers measures
	before after beside beneath against without towards between slowly twice seldom early
	the every another its that their this no`)
