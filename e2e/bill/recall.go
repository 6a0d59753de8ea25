package main

import (
	"strings"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

// A sighting says where the needles are that a conversation has told.
type sighting struct {
	// Told are the needles that had been told when the prompt was sent.
	Told []needle
	// Verbatim and Summary are their numbers in Told that the prompt holds: in a message of the
	// session, or else in a summary.
	Verbatim, Summary map[int]bool
}

// findNeedles looks up the needles of the story in a prompt of the main conversation, which has reached
// p.
func (s story) findNeedles(p place, messages []mockllm.Message) sighting {
	found := sighting{Told: s.needlesBefore(p), Verbatim: map[int]bool{}, Summary: map[int]bool{}}
	for i, n := range found.Told {
		for _, m := range messages {
			for _, c := range m.Content {
				if !n.isIn(c.Text) {
					continue
				}
				if isSummary(c.Text) {
					found.Summary[i] = true
				} else {
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

// isSummary reports whether a text is a summary: of OpenCode's compaction, or in magicctx's head.
func isSummary(text string) bool {
	return strings.HasPrefix(text, summaryHeader) || strings.HasPrefix(text, "<session-history") || strings.Contains(text, "\n<session-history")
}
