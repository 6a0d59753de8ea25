package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

func (n needle) question() string {
	switch n.kind {
	case ofPath:
		return fmt.Sprintf("Where do the weights of ward-%03d stand?", n.at.turn)
	case ofNumber:
		return fmt.Sprintf("How many sacks does the granary of turn %d hold?", n.at.turn)
	case ofDecision:
		return fmt.Sprintf("Which scales does the parish of ward-%03d keep?", n.at.turn)
	case ofError:
		return fmt.Sprintf("What is wrong with the seal of sheet %03d, E4%03d?", n.at.turn, n.at.turn)
	}
	return fmt.Sprintf("Weigh the seed of ward-%03d, please.", n.at.turn)
}

func (n needle) query() string {
	switch n.kind {
	case ofPath:
		return fmt.Sprintf("weights of ward-%03d", n.at.turn)
	case ofNumber:
		return fmt.Sprintf("granary sacks turn %d", n.at.turn)
	case ofDecision:
		return fmt.Sprintf("scales of ward-%03d", n.at.turn)
	case ofError:
		return fmt.Sprintf("error sheet %03d seal", n.at.turn)
	}
	return fmt.Sprintf("seed of ward-%03d", n.at.turn)
}

const searched = 8

// After a reminder line, magicctx adds no other line for some passes. So before the next question, the user sends three
// prompts without a question.
const between = 3

// The method `probe` asks one question about each needle that is no longer in the prompt. Searchable counts the needles
// that a search finds. Arrived counts the needles that magicctx itself adds to the prompt after the question.
func (r run) probe(ctx context.Context, a agent.Agent, p *provider, s story, user *stage.User, session string, last *recall) error {
	seen := p.window(s.turns)
	last.ArrivedKinds = map[string]int{}
	say := func(text string) error {
		return a.Send(ctx, session, opencodetest.Prompt{Text: fmt.Sprintf("Turn %d is done. %s", s.turns, text), Model: r.model(s.turns)})
	}
	for i, n := range seen.Told {
		if seen.Verbatim[i] || seen.Summary[i] {
			continue
		}
		found, err := user.Host(ctx, "search", "--json", "--limit", fmt.Sprint(searched), n.query())
		if err != nil {
			return err
		}
		if n.isIn(string(found)) {
			last.Searchable++
		}
		if err := say(n.question()); err != nil {
			return err
		}
		lines := linesIn(p.newest())
		if len(lines) == 0 { // on a slow machine, a line comes with the next prompt
			if err := say("Well?"); err != nil {
				return err
			}
			lines = linesIn(p.newest())
		}
		if slices.ContainsFunc(lines, n.isIn) {
			last.Arrived++
			last.ArrivedKinds[n.kind]++
		}
		for range between * min(1, len(lines)) {
			if err := say("Thanks."); err != nil {
				return err
			}
		}
	}
	return nil
}

// lineBegins and lineEnds enclose a line that magicctx has delivered.
const lineBegins, lineEnds = "<system-reminder>\nearlier, ", "\n</system-reminder>"

func linesIn(text string) (all []string) {
	for {
		_, rest, found := strings.Cut(text, lineBegins)
		if !found {
			return all
		}
		line, after, _ := strings.Cut(rest, lineEnds)
		all, text = append(all, line), after
	}
}

// A lineCount is the number and the cost of the lines that magicctx adds to prompts. The first request with a line
// writes it to the cache, and every later request reads it.
type lineCount struct {
	Lines  int
	Tokens promptcache.Tokens
}

func (c *lineCount) count(messages []mockllm.Message, known map[string]bool) {
	for _, m := range messages {
		for _, content := range m.Content {
			for _, line := range linesIn(content.Text) {
				size := tokens.Count(lineBegins + line + lineEnds)
				if known[line] {
					c.Tokens.Read += size
					continue
				}
				known[line] = true
				c.Lines++
				c.Tokens.Write += size
			}
		}
	}
}

func (p *provider) newest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newestText
}
