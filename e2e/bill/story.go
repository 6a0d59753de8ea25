package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

const calls = 5

// These sizes are in tokens, as internal/tokens counts them. For comparison, the system prompt and the tools together
// have about 7,000 tokens, and a step with its call and result has about 1,100. After 60 turns, the texts alone,
// together with the system prompt and the tools, fill four fifths of a window of 64,000 tokens.
const (
	promptTokens     = 110
	stepTokens       = 85
	conclusionTokens = 160
	thoughtTokens    = 60
)

// linesPerCall is the number of lines that a call reads. They have about 3 KB.
const linesPerCall = 42

// In a mixed story, each call reads a number of lines from mixedLines, and the size of each text is multiplied by a
// factor from mixedFactors. All entries are equally likely. On average, a call reads 45 lines and the factor is 1.1, so
// a mixed story is about as long as any other.
var (
	mixedLines   = []int{12, 12, 12, 24, 24, 42, 42, 42, 90, 150}
	mixedFactors = []float64{0.3, 0.3, 0.5, 0.5, 1, 1, 1, 1, 2, 3.4}
)

// A story depends only on its fields.
type story struct {
	project string // absolute path
	turns   int
	isMixed bool // whether outputs and answers have mixed sizes
	asks    bool // whether the model asks for drops
	tools   script.Tools
}

// The model asks to drop tags about every 13 steps, as in the traces of the repository.
func (s story) asksAt(p place) bool { return s.asks && p.turn%2 == 0 && p.step == 2 }

func (s story) lines(p place) int {
	if s.isMixed {
		return mixedLines[random(7, p.turn*10+p.step).IntN(len(mixedLines))]
	}
	return linesPerCall
}

func (s story) size(p place, usual int) int {
	if s.isMixed {
		return int(float64(usual) * mixedFactors[random(8, p.turn*10+p.step).IntN(len(mixedFactors))])
	}
	return usual
}

// A place is a point in the story. Turns count from 1. `step` is 0 after the user's prompt, n after the n-th call, and
// `done` after the answer that ends the turn.
type place struct{ turn, step int }

const done = calls + 1

func (p place) isBefore(q place) bool {
	return p.turn < q.turn || p.turn == q.turn && p.step < q.step
}

type answer struct {
	thought string // comes before the text, if the model thinks
	text    string
	tool    string
	id      string
	input   map[string]any
	drops   string // the tags that the model asks to drop, for example "3-17"
}

func (s story) prompt(turn int) string {
	return s.withNeedle(place{turn, 0}, fmt.Sprintf("Turn %d: ", turn)+prose(promptTokens, 1, turn))
}

// The method `after` returns the model's next answer at a place in the story. After a compaction, OpenCode tells the
// model to continue, even if the turn was already over. The model then says that nothing is left to do.
func (s story) after(p place) answer {
	switch {
	case p.step < calls:
		return s.call(place{p.turn, p.step + 1})
	case p.step == calls:
		return answer{text: s.withNeedle(place{p.turn, done}, fmt.Sprintf("Turn %d is done: ", p.turn)+prose(s.size(place{p.turn, done}, conclusionTokens), 2, p.turn))}
	}
	return answer{text: "Nothing is left to do before the next prompt."}
}

// Each turn reads its own file in parts, so no two calls of a session are equal. Every third turn searches for a part
// with grep in the shell, because OpenCode's own grep tool would download ripgrep.
func (s story) call(p place) answer {
	a := answer{
		text: s.withNeedle(p, fmt.Sprintf("Turn %d, step %d: ", p.turn, p.step)+prose(s.size(p, stepTokens), 3, p.turn*10+p.step)),
		id:   fmt.Sprintf("toolu_turn%03d_step%d", p.turn, p.step),
	}
	path := filepath.Join(s.project, fileName(p.turn))
	if p.turn%3 == 0 && p.step == 4 {
		a.tool, a.input = s.tools.Bash(fmt.Sprintf("grep -n '^%s' %s", piece(p), path), "Find the entries of a piece")
		return a
	}
	offset := 1
	for step := 1; step < p.step; step++ {
		offset += s.lines(place{p.turn, step})
	}
	a.tool, a.input = s.tools.Read(path, offset, s.lines(p))
	return a
}

func (s story) thought(p place) string {
	return fmt.Sprintf("After step %d of turn %d. ", p.step, p.turn) + prose(thoughtTokens, 6, p.turn*10+p.step)
}

func (s story) title() answer { return answer{text: "Ledgers of a town"} }

func (s story) files() map[string]string {
	files := map[string]string{}
	for turn := 1; turn <= s.turns; turn++ {
		r := random(5, turn)
		var b strings.Builder
		for step := 1; step <= calls; step++ {
			for line := range s.lines(place{turn, step}) {
				if n := s.needle(turn); n.kind == ofError && n.at.step == step && line == errorLine {
					fmt.Fprintln(&b, n.text)
					continue
				}
				fmt.Fprintf(&b, "%s %02d %s %d/%d/%d\n", piece(place{turn, step}), line, randomWords(r, 6), r.IntN(1e4), r.IntN(1e3), r.IntN(1e3))
			}
		}
		files[fileName(turn)] = b.String()
	}
	return files
}

func fileName(turn int) string { return fmt.Sprintf("ledgers/ledger-%03d.txt", turn) }

func piece(p place) string { return fmt.Sprintf("entry %d.%d", p.turn, p.step) }

func random(kind, n int) *rand.Rand { return rand.New(rand.NewPCG(uint64(kind), uint64(n))) }

func prose(size, kind, n int) string {
	r := random(kind, n)
	var b strings.Builder
	for have := 0; have < size; {
		sentence := randomWords(r, 6+r.IntN(9))
		sentence = strings.ToUpper(sentence[:1]) + sentence[1:] + ". "
		have += tokens.Count(sentence)
		b.WriteString(sentence)
	}
	return strings.TrimRight(b.String(), " ")
}

func randomWords(r *rand.Rand, n int) string {
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
