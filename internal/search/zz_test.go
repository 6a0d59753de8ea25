package search_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/internal/terms"
)

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	s := newSet(t)
	for _, q := range s.queries("tuning") {
		one, ranks := s.judge(q)
		if one.ndcg > 0.75 || !strings.Contains(q.text, os.Getenv("ZZQ")) {
			continue
		}
		fmt.Printf("\n### %s [%.2f] %s\n   %s\n", q.project, one.ndcg, q.text, ranks)
		for _, w := range terms.Of(q.text) {
			if !terms.IsFunctionWord(w) {
				fmt.Printf("   %s: %v\n", w, terms.Synonyms(w))
			}
		}
		hits, _ := search.Search(t.Context(), s.index, search.Query{Text: q.text, Limit: 300, Project: "git:" + q.project, Now: judgedNow.UnixMilli()})
		for i, h := range hits {
			l := s.labels[place(h.Session.ID, h.Last, h.Text)]
			if i < 6 || q.grades[l] > 1 {
				tx := h.Text
				if len(tx) > 150 {
					tx = tx[:150]
				}
				fmt.Printf("  %d %.3f %s %s %s(%d): %q\n", i+1, h.Score, h.Session.ID, h.Kind, l, q.grades[l], tx)
			}
		}
	}
}
