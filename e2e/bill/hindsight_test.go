package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

func TestBlocksOfTheConversation(t *testing.T) {
	for raw, want := range map[string]block{
		`{"type":"text","text":"You are an agent."}`:                                                            {},
		`{"type":"text","text":"<session-history>\nTurn 3, step 1: so"}`:                                        {},
		`{"type":"text","text":"§4§ Turn 2: go on"}`:                                                            {key: "tag 4", tag: 4, turn: 2, isUser: true},
		`{"type":"text","text":"Turn 2: go on"}`:                                                                {key: "turn 2", turn: 2, isUser: true},
		`{"type":"text","text":"§5§ Turn 2, step 1: so"}`:                                                       {key: "tag 5", tag: 5, turn: 2},
		`{"type":"text","text":"[dropped §5§]"}`:                                                                {key: "tag 5", tag: 5},
		`{"type":"tool_use","id":"toolu_turn002_step1","name":"read","input":{}}`:                               {key: "call toolu_turn002_step1 result ", turn: 2, call: "toolu_turn002_step1"},
		`{"type":"tool_result","tool_use_id":"toolu_turn002_step1","content":[{"type":"text","text":"§6§ x"}]}`: {key: "call  result toolu_turn002_step1", tag: 6, turn: 2, call: "toolu_turn002_step1"},
		`{"role":"tool","tool_call_id":"toolu_turn012_step1","content":"§6§ x"}`:                                {key: "call  result toolu_turn012_step1", tag: 6, turn: 12, call: "toolu_turn012_step1"},
		`{"role":"assistant","content":"§5§ Turn 2, step 1: so","tool_calls":[]}`:                               {key: "tag 5", tag: 5, turn: 2},
		`{"name":"read","description":"Read a file"}`:                                                           {},
		`"text"`: {},
	} {
		if got := blockOf(json.Value(raw)); got != want {
			t.Errorf("%s is %+v, want %+v", raw, got, want)
		}
	}
}

// After a system prompt of 1,000 tokens, each of six requests adds 50 tokens. After request 2, the model asks to drop
// tag 1. The host does so only in request 6: a placeholder of 1 token replaces the 50 tokens. The provider must then
// write the placeholder and the four cached blocks after it again, which is 1 + 4 x 50 tokens.
//
// A bust in request 3 would have been cheaper. The provider would have written only 1 + 50 tokens again, and each of
// the requests 3 to 5 would have read 49 tokens less.
func TestLookerFindsABetterBustTime(t *testing.T) {
	const requests = 6
	p := schema.Price{Fresh: 1e6, Write: 1e6, Read: 0.5e6}
	var l looker
	for i := range requests {
		blocks := []block{{tokens: 1_000}}
		for n := range i + 1 {
			b := block{key: fmt.Sprint("tag ", n+1), tag: n + 1, turn: 1, tokens: 50}
			if n == 0 && i == requests-1 {
				b.tokens = 1
			}
			blocks = append(blocks, b)
		}
		l.see(blocks, p, i == 0, i == requests-1)
		if i == 1 {
			l.ask(1, 1)
		}
	}
	want := []promptcache.Piece{{Place: 1_000, Tokens: 49, From: 1_000}}
	if diff := cmp.Diff(want, l.session[2].Ready); diff != "" {
		t.Errorf("ready from the third request on (-want +got):\n%s", diff)
	}
	run := 3*49*0.5 + (1+4*50)*0.5
	best := (1 + 50) * 0.5
	excess, at := l.excess(0)
	if diff := excess - (run - best); diff > 1e-9 || diff < -1e-9 || !cmp.Equal(at, []int{2}) {
		t.Errorf("better times would have saved %f, with busts at %v; want %f with one at request 2", excess, at, run-best)
	}
}

// If the historian has summarised a turn, all blocks of the turn may be removed, even the user's texts. The summary
// then takes their place on the wire. So the size of the summary appears as a piece with a negative size.
func TestLookerKnowsSummaries(t *testing.T) {
	var l looker
	p := schema.Price{Fresh: 1, Write: 1, Read: 0.1}
	blocks := []block{{tokens: 100}}
	for turn := 1; turn <= 3; turn++ {
		blocks = append(blocks, block{key: fmt.Sprint("turn ", turn), turn: turn, isUser: true, tokens: 10})
	}
	l.see(blocks, p, true, false)
	l.summarise(answer{text: fmt.Sprintf("<compartment start=\"1\" end=\"%d\"><p1>one</p1></compartment>", 2*messagesOfTurn)})
	l.see(blocks, p, false, false)
	l.excess(0)
	want := []promptcache.Piece{
		{Place: 100, Tokens: 10, From: 100},
		{Place: 110, Tokens: 10, From: 100},
		{Place: 100, Tokens: -1, From: 100},
	}
	if diff := cmp.Diff(want, l.session[1].Ready); diff != "" {
		t.Errorf("ready after the summary (-want +got):\n%s", diff)
	}
}
