package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/store/index"
)

const now = 1_800_000_000_000

var ours = index.Session{Harness: "opencode", ID: "ses_1", Project: "git:a"}

func newIndex(t *testing.T) *index.Index {
	t.Helper()
	x, err := index.Open(t.Context(), t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	return x
}

// Each message has one text. The first has ordinal 1.
func add(t *testing.T, x *index.Index, s index.Session, texts ...string) {
	t.Helper()
	must(t, x.Update(t.Context(), func(tx *index.Tx) error {
		state, err := tx.Session(s)
		for i, text := range texts {
			m := index.Message{Key: fmt.Sprint("m", i), Ordinal: i + 1, At: now - 1000, Chunks: []index.Chunk{{Kind: index.Text, Role: index.Agent, Text: text}}}
			err = errors.Join(err, tx.Put(state.Row, s.Project, m))
		}
		return err
	}))
}

func search1(t *testing.T, x *index.Index, q Query) (all []string) {
	t.Helper()
	q.Now = now
	if q.Limit == 0 {
		q.Limit = 10
	}
	hits, err := Search(t.Context(), x, q)
	must(t, err)
	last := 1.0
	for _, h := range hits {
		if h.Score > last || h.Score <= 0 {
			t.Errorf("%q: score %v after %v", q.Text, h.Score, last)
		}
		last = h.Score
		all = append(all, h.Text)
	}
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestBestMatchComesFirst(t *testing.T) {
	x := newIndex(t)
	add(
		t, x, ours,
		"the deploy script was slow, and much later somebody asked about a timeout of the proxy that nobody had set",
		"the proxy has a deploy timeout of 30 seconds",
		"we renamed the proxy",
		"lunch",
	)
	want(t, search1(t, x, Query{Text: "deploy timeouts of the proxy", Limit: 3}),
		"the proxy has a deploy timeout of 30 seconds",
		"the deploy script was slow, and much later somebody asked about a timeout of the proxy that nobody had set",
		"we renamed the proxy")
	want(t, search1(t, x, Query{Text: "unknownword proxy renaming"})[:1], "we renamed the proxy")
	want(t, search1(t, x, Query{Text: "deploy", Limit: 1}), "the proxy has a deploy timeout of 30 seconds")
}

// A long question with common words must find the message with its rare words.
func TestRareWordsDecide(t *testing.T) {
	x := newIndex(t)
	var texts []string
	for i := range 400 {
		texts = append(texts, fmt.Sprint("why did you do this to the file, and what is number ", i))
	}
	add(t, x, ours, append(texts, "the codec of the zebra was rewritten")...)
	want(t, search1(t, x, Query{Text: "why did we do what we did to the codec, is it the zebra", Limit: 1}), "the codec of the zebra was rewritten")
}

// A search with a rare and a frequent word must not find texts that contain only the frequent word.
func TestWeakHitsAreNotShown(t *testing.T) {
	x := newIndex(t)
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprint([]string{"today ", "nothing ", "later ", "lunch ", "coffee ", "home "}[i%6], i))
	}
	add(t, x, index.Session{Harness: "pi", ID: "s2", Project: "git:a"}, texts...)
	add(t, x, ours, "a zebra")
	want(t, search1(t, x, Query{Text: "zebra today"}), "a zebra")
	if got := search1(t, x, Query{Text: "today", Limit: 1}); len(got) != 1 || !strings.HasPrefix(got[0], "today") {
		t.Errorf("the frequent word alone: %q", got)
	}
}

func TestHitsOfOneMessageLeaveRoomForOthers(t *testing.T) {
	x := newIndex(t)
	must(t, x.Update(t.Context(), func(tx *index.Tx) error {
		state, err := tx.Session(ours)
		var chunks []index.Chunk
		for _, text := range [...]string{"zebra deploy one", "zebra deploy two"} {
			chunks = append(chunks, index.Chunk{Kind: index.Text, Role: index.Agent, Text: text})
		}
		return errors.Join(err, tx.Put(state.Row, ours.Project, index.Message{Key: "m", Ordinal: 1, At: now, Chunks: chunks}))
	}))
	add(t, x, index.Session{Harness: "pi", ID: "s2", Project: "git:a"}, "the zebra of another day has seen a deploy that was slow")
	got := search1(t, x, Query{Text: "zebra deploy"})
	if len(got) != 3 || !strings.HasPrefix(got[1], "the zebra of another day") {
		t.Errorf("%q", got)
	}
}

// A search for the words of a prompt must also find the last answer of its turn, even if many tool calls lie between
// the two.
func TestAnswerStandsBesideItsPrompt(t *testing.T) {
	x := newIndex(t)
	const prompt = "Why does the zebra limp?"
	must(t, x.Update(t.Context(), func(tx *index.Tx) error {
		state, err := tx.Session(ours)
		for ordinal, chunk := range map[int]index.Chunk{
			1:  {Kind: index.Text, Role: index.User, Text: prompt},
			40: {Kind: index.Text, Role: index.Agent, Text: "A dry hoof.", Context: prompt},
		} {
			m := index.Message{Key: fmt.Sprint("m", ordinal), Ordinal: ordinal, At: now, Chunks: []index.Chunk{chunk}}
			err = errors.Join(err, tx.Put(state.Row, ours.Project, m))
		}
		return err
	}))
	want(t, search1(t, x, Query{Text: "zebra limp"}), prompt, "A dry hoof.")
}

func TestOtherProjectsAreNotShown(t *testing.T) {
	x := newIndex(t)
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprint("zebra of another project ", i))
	}
	add(t, x, ours, "zebra of ours")
	add(t, x, index.Session{Harness: "pi", ID: "s2", Project: "git:b"}, texts...)
	want(t, search1(t, x, Query{Text: "zebra", Project: "git:a"}), "zebra of ours")
	want(t, search1(t, x, Query{Text: "zebra", Project: "git:unknown"}))
	if got := search1(t, x, Query{Text: "zebra", Limit: 500}); len(got) != 301 {
		t.Errorf("%d in all projects", len(got))
	}
}

// Bug K1: in a session without a summary, a search found messages that are still in the model's prompt. Such a hit
// tells the model nothing new.
func TestBugK1MessagesInFrontOfTheModelAreNotFound(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "zebra one", "zebra two", "zebra three")
	add(t, x, index.Session{Harness: "pi", ID: "s2", Project: "git:a"}, "zebra elsewhere")
	asked := Query{Text: "zebra", Project: "git:a", Harness: "opencode", Session: "ses_1"}
	want(t, search1(t, x, asked), "zebra elsewhere")
	asked.Through = 2
	got := search1(t, x, asked)
	slices.Sort(got)
	want(t, got, "zebra elsewhere", "zebra one", "zebra two")
	asked.Hides = func(h *index.Hit) bool { return strings.Contains(h.Text, "two") }
	if got := search1(t, x, asked); len(got) != 2 || slices.Contains(got, "zebra two") {
		t.Errorf("%q", got)
	}
	asked.Dropped = []index.Part{{Message: "m2"}, {Message: "m1", IsCall: true}}
	if got := search1(t, x, asked); len(got) != 3 || !slices.Contains(got, "zebra three") {
		t.Errorf("with what was dropped: %q", got)
	}
	asked.Dropped = []index.Part{{Message: "m2", IsCall: true}}
	if got := search1(t, x, asked); len(got) != 2 {
		t.Errorf("the text of a message whose call was dropped is still there: %q", got)
	}
}

// Bug K3: a search took the best hits up to its limit, and only then removed the messages that the model sees anyway.
// If all of the best hits were visible, no hit was left.
func TestBugK3VisibleMessagesTakeNoPlaces(t *testing.T) {
	x := newIndex(t)
	texts := []string{"zebra of old"}
	for i := range 1000 {
		texts = append(texts, fmt.Sprint("zebra ", i))
	}
	add(t, x, ours, texts...)
	want(t, search1(t, x, Query{Text: "zebra", Harness: "opencode", Session: "ses_1", Through: 1, Limit: 3}), "zebra of old")
}

// Bug K4: a search for "agent" found all messages of this role.
func TestBugK4RolesAndKindsAreNoWords(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "something")
	for _, text := range []string{"agent", "text", "opencode", "git a", "#1", "ses_1"} {
		want(t, search1(t, x, Query{Text: text}))
	}
}

func TestForkRepeatsNoHit(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, "zebra one", "zebra two")
	add(t, x, index.Session{Harness: "opencode", ID: "ses_2", Project: "git:a"}, "zebra one", "Zebra  two")
	if got := search1(t, x, Query{Text: "zebra"}); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// Queries come from a model, and indexed texts may come from anybody. Neither may be interpreted as query syntax.
func TestHostileQueries(t *testing.T) {
	x := newIndex(t)
	add(t, x, ours, `say "hi" NEAR(x) OR 1=1 -- zebra`)
	for _, text := range []string{`"`, "zebra\" OR *", "NEAR(zebra", "zebra*", "#1", "-zebra", "words:zebra", strings.Repeat("zebra ", 10_000), "zebra\x00\xff", "日本", "{zebra} ^zebra"} {
		hits, err := Search(t.Context(), x, Query{Text: text, Limit: 10, Now: now})
		if isWord := strings.Contains(text, "zebra"); isWord && len(hits) != 1 || err != nil && !errors.Is(err, ErrNoWords) {
			t.Errorf("%.20q: %d hits, %v", text, len(hits), err)
		}
	}
	if _, err := Search(t.Context(), x, Query{Text: "?!", Limit: 10}); !errors.Is(err, ErrNoWords) {
		t.Error(err)
	}
}
