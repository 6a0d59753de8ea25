package search

import (
	"context"
	"errors"
	"testing"

	"github.com/magicctx/magicctx-host/store/index"
)

// embed gives vectors to the texts in the index, and returns a function that gives vectors to queries. If the map
// `vectors` does not contain a text, the text gets no vector.
func embed(t *testing.T, x *index.Index, vectors map[string][]float32) func(context.Context, string, string) []float32 {
	t.Helper()
	var texts []index.Waiting
	must(t, x.View(t.Context(), func(v *index.View) (err error) {
		texts, err = v.Waiting("s", 100)
		return err
	}))
	var all [][]float32
	for _, text := range texts {
		all = append(all, vectors[text.Text[:len(text.Text)-1]])
	}
	must(t, x.Update(t.Context(), func(tx *index.Tx) error { return tx.PutVectors("s", texts, all) }))
	return func(_ context.Context, space, text string) []float32 {
		if space != "s" {
			t.Errorf("space %q", space)
		}
		return vectors[text]
	}
}

func TestVectorsFindWhatWordsDoNot(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "a cat sleeps", "lions hunt", "granite")
	q := Query{Text: "feline", Embed: embed(t, x, map[string][]float32{
		"feline": {1, 0}, "a cat sleeps": {0.8, 0.6}, "lions hunt": {0.96, 0.28}, "granite": {-1, 0},
	})}
	want(t, search1(t, x, q), "lions hunt", "a cat sleeps")
	q.Embed = nil
	want(t, search1(t, x, q))
}

// A search by words and a search by vectors each give a list. A text in both lists must rank above a text in only one
// of them.
func TestBothListsCount(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "cache cache cache", "the cache of pictures")
	add(t, x, index.Session{Harness: "pi", ID: "s2", Project: ours.Project}, "images on disk") // not beside the others
	q := Query{Text: "cache", Embed: embed(t, x, map[string][]float32{
		"cache": {1, 0}, "cache cache cache": {-1, 0}, "the cache of pictures": {0.6, 0.8}, "images on disk": {0.8, 0.6},
	})}
	if got := search1(t, x, q); got[0] != "the cache of pictures" || len(got) != 3 {
		t.Error(got)
	}
}

func TestVectorsKeepToTheScope(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "old", "shown", "new")
	add(t, x, index.Session{Harness: "pi", ID: "s2", Project: "git:b"}, "foreign")
	e := embed(t, x, map[string][]float32{"q": {1}, "old": {1}, "shown": {1}, "new": {1}, "foreign": {1}})
	want(t, search1(t, x, Query{
		Text: "q", Embed: e, Project: "git:a", Harness: "opencode", Session: "ses_1", Through: 2,
		Hides: func(h *index.Hit) bool { return h.Text == "shown" },
	}), "old")
	want(t, search1(t, x, Query{Text: "q", Embed: e, Project: "git:unknown"}))
	want(t, search1(t, x, Query{Text: "q", Embed: e, Only: index.Filter{Kinds: []index.Kind{index.Command}}}))
}

func TestQueryWithoutWordsUsesTheVector(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "one")
	q := Query{Text: "…", Limit: 5, Embed: embed(t, x, map[string][]float32{"…": {1}, "one": {1}})}
	want(t, search1(t, x, q), "one")
	q.Embed = func(context.Context, string, string) []float32 { return nil } // the server is dead
	if _, err := Search(t.Context(), x, q); !errors.Is(err, ErrNoWords) {
		t.Error(err)
	}
}

func TestWithoutVectorsNoServiceIsAsked(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "one word")
	want(t, search1(t, x, Query{Text: "word", Embed: func(context.Context, string, string) []float32 {
		t.Error("asked")
		return nil
	}}), "one word")
}
