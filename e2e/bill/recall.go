package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/internal/json"
)

type sighting struct {
	Told []needle
	// The keys of both maps are indexes of Told. Verbatim has the needles that occur in a message. Summary has the
	// needles that occur only in a summary.
	Verbatim, Summary map[int]bool
}

func (s story) findNeedles(p place, messages []mockllm.Message) sighting {
	found := sighting{Told: s.needlesBefore(p), Verbatim: map[int]bool{}, Summary: map[int]bool{}}
	for i, n := range found.Told {
		for _, m := range messages {
			for _, c := range m.Content {
				summary, verbatim := splitSummary(c.Text)
				if n.isIn(summary) {
					found.Summary[i] = true
				}
				if n.isIn(verbatim) {
					found.Verbatim[i] = true
				}
			}
		}
		if found.Verbatim[i] {
			delete(found.Summary, i)
		}
	}
	return found
}

// splitSummary separates the summary in a text from the verbatim messages. The summary may be OpenCode's, or the head
// of magicctx. Only OpenCode 2 puts a summary and messages into the same text.
func splitSummary(text string) (summary, verbatim string) {
	switch {
	case strings.HasPrefix(text, summaryHeader), strings.HasPrefix(text, "<session-history"), strings.Contains(text, "\n<session-history"):
		return text, ""
	case strings.HasPrefix(text, "<conversation-checkpoint>"):
		summary, verbatim, _ = strings.Cut(text, "<recent-context>")
		return summary, verbatim
	}
	return "", text
}

const checkEvery = 20

func isCheck(turn, turns int) bool { return turn%checkEvery == 0 || turn == turns }

// A recall counts the needles that the model can still find at the last prompt of a turn, by the place where it finds
// them. A needle in several places counts only for the best place.
type recall struct {
	Turn     int `json:"turn"`
	Told     int `json:"told"`
	Verbatim int `json:"verbatim"` // needles that are in a message of the prompt
	Summary  int `json:"summary"`  // needles that are in a summary in the prompt
	// Expandable needles are not in the prompt, but ctx_expand shows them.
	Expandable int `json:"expandable"`
	Lost       int `json:"lost"`
	// Searchable and Arrived count needles that are not in the prompt. They are counted only after the last turn. A
	// needle is searchable if a single search finds it. A needle arrives if magicctx adds it to the prompt when the
	// user asks about its subject.
	Searchable   int            `json:"searchable"`
	Arrived      int            `json:"arrived"`
	ArrivedKinds map[string]int `json:"arrived_kinds,omitempty"`
	// PromptKinds counts, by kind, the needles that are in a message or a summary of the prompt.
	PromptKinds map[string]int `json:"prompt_kinds,omitempty"`
	LostKinds   map[string]int `json:"lost_kinds,omitempty"`
}

func recallOf(turn int, s sighting, reader string) recall {
	r := recall{Turn: turn, Told: len(s.Told), Verbatim: len(s.Verbatim), Summary: len(s.Summary), PromptKinds: map[string]int{}, LostKinds: map[string]int{}}
	for i, n := range s.Told {
		switch {
		case s.Verbatim[i] || s.Summary[i]:
			r.PromptKinds[n.kind]++
		case n.isIn(reader):
			r.Expandable++
		default:
			r.Lost++
			r.LostKinds[n.kind]++
		}
	}
	return r
}

func (r recall) inPrompt() int { return r.Verbatim + r.Summary }

// The method `known` returns the share of the needles that the model can see: they are in the prompt, or arrive in it.
func (r recall) known() float64 { return float64(r.inPrompt()+r.Arrived) / float64(max(1, r.Told)) }

// The function `expanded` returns all messages of a session as `magicctx-host history expand` shows them. The command
// reads messages with the same code as ctx_expand. `expanded` calls it once for the range of each compartment, and once
// for the messages after the last compartment.
func expanded(ctx context.Context, user *stage.User, session string) (string, error) {
	shown, err := user.Host(ctx, "history", "show", session, "--json")
	if err != nil {
		return "", err
	}
	var history struct {
		Compartments []struct {
			Start int `json:"start"`
			End   int `json:"end"`
		} `json:"compartments"`
	}
	if err := json.Unmarshal(shown, &history); err != nil {
		return "", fmt.Errorf("magicctx-host history show printed %q: %w", shown, err)
	}
	var all strings.Builder
	next := 1
	for _, c := range history.Compartments {
		page, err := user.Host(ctx, "history", "expand", session, fmt.Sprintf("%d-%d", c.Start, c.End), "--json")
		if err != nil {
			return "", err
		}
		all.Write(page)
		next = c.End + 1
	}
	page, err := user.Host(ctx, "history", "expand", session, fmt.Sprintf("%d-", next), "--json")
	all.Write(page)
	return all.String(), err
}
