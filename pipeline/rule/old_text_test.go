package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

func texts(n int) rule.View {
	var turns []turn
	for range n {
		turns = append(turns, user(text(100)))
	}
	return conversation(turns...)
}

func TestOldText(t *testing.T) {
	levels := func(v rule.View, k rule.Knobs) string {
		var got []string
		for _, e := range rule.OldText(v, k) {
			if e.Kind != frozen.Compress {
				t.Errorf("edit %s", e)
			}
			got = append(got, fmt.Sprintf("%d:%d", e.Tag, e.Level))
		}
		return strings.Join(got, " ")
	}
	// A reference vector: twelve texts, of which two are protected.
	k := rule.Knobs{CompressFrom: 400, ProtectedTags: 2}
	const ofTen = "1:3 2:3 3:2 4:2 5:1 6:1"
	if got := levels(texts(12), k); got != ofTen {
		t.Errorf("got %s, want %s", got, ofTen)
	}
	if got := levels(texts(12), rule.Knobs{ProtectedTags: 2}); got != "" {
		t.Errorf("switched off: %s", got)
	}
	if got := levels(texts(12), rule.Knobs{CompressFrom: 401, ProtectedTags: 2}); got != "" {
		t.Errorf("smaller than the least: %s", got)
	}

	// The rule counts texts. It must ignore files, tools, short texts and dropped texts.
	mixed := conversation(
		user(text(99), file(), text(100)), assistant(call("read", 500), text(100).edited(frozen.Drop)),
		user(text(100), text(100)), assistant(text(100)), user(text(100)), user(text(1)),
	)
	if got := levels(mixed, rule.Knobs{CompressFrom: 400, ProtectedTags: 1}); got != "3:3 6:2 7:1" {
		t.Errorf("among others: %s", got)
	}

	// The level of a text never falls. A level is stored even if it does not make the text shorter, so that the next
	// bust does not try the same text again (bug class A18 in docs/defects.md).
	v := texts(12)
	for _, e := range []frozen.Edit{{Tag: 1, Kind: frozen.Compress, Level: 3}, {Tag: 3, Kind: frozen.Compress, Level: 3}, {Tag: 5, Kind: frozen.Compress, Level: 1}} {
		v.State.Lay(e)
	}
	if got := levels(v, k); got != "2:3 4:2 6:1" {
		t.Errorf("deeper only: %s", got)
	}
}
