package main

import (
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

func TestBustsThatKeepTheBaseline(t *testing.T) {
	blocks := func(names ...string) (all []promptcache.Block) {
		for _, n := range names {
			all = append(all, promptcache.Block{Hash: promptcache.HashOf([]byte(n)), Tokens: 100})
		}
		return all
	}
	for name, c := range map[string]struct {
		next []promptcache.Block
		read int
		want bust
	}{
		"fold":       {blocks("system", "other baseline", "ack", "delta"), 100, bust{Kept: 100}},
		"soft":       {blocks("system", "baseline", "ack", "new delta"), 300, bust{Kept: 300, Soft: true}},
		"soft, cold": {blocks("system", "baseline", "ack", "new delta"), 100, bust{Kept: 300, Soft: true, Cold: true}},
	} {
		var counted tally
		counted.step(place{1, 1}, blocks("system", "baseline", "ack", "delta"), 3, promptcache.Tokens{Write: 400})
		counted.step(place{1, 2}, c.next, 3, promptcache.Tokens{Read: c.read, Write: 400 - c.read})
		c.want.Turn, c.want.Step, c.want.Prompt = 1, 2, 400
		if len(counted.Busts) != 1 || counted.Busts[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, counted.Busts, c.want)
		}
	}
	prompt := []mockllm.PromptBlock{{JSON: json.Value(`"system"`)}, {JSON: json.Value(`{"text":"<session-history>\n"}`)}, {JSON: json.Value(`"ack"`)}, {JSON: json.Value(`"<session-history-since>"`)}}
	if n := headEnd(prompt); n != 3 {
		t.Errorf("the head's unchanging part has %d blocks, want 3", n)
	}
	if n := headEnd(prompt[3:]); n != 0 {
		t.Errorf("without a baseline, it has %d blocks", n)
	}
}
