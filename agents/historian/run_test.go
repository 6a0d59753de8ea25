package historian_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
)

type reply struct {
	text string
	err  error
}

type script struct {
	replies []reply
	asked   []ask.Request
	slept   []time.Duration
}

func (s *script) Ask(_ context.Context, r ask.Request) (ask.Answer, error) {
	s.asked = append(s.asked, r)
	if len(s.asked) > len(s.replies) {
		return ask.Answer{}, errors.New("asked too often")
	}
	next := s.replies[len(s.asked)-1]
	return ask.Answer{Text: next.text, Model: r.Model, Usage: ask.Usage{Input: 5000, Output: 500}}, next.err
}

func (s *script) ports() historian.Ports {
	return historian.Ports{Asker: s, Sleep: func(_ context.Context, d time.Duration) error {
		s.slept = append(s.slept, d)
		return nil
	}}
}

// Each question is "model", "model repair" or "editor".
func (s *script) questions() string {
	var all []string
	for _, r := range s.asked {
		name := r.Model
		if r.Agent == historian.EditorAgent {
			name = "editor"
		}
		if strings.Contains(r.Prompt, "DATA previous_answer") {
			name += " repair"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func valid(text string) reply {
	return reply{text: historiantest.Output(historiantest.Compartment(chronicle.Range{Start: 11, End: 30}, text))}
}

var (
	garbage   = reply{text: "no xml here"}
	cut       = reply{text: historiantest.Output(historiantest.Compartment(chronicle.Range{Start: 11, End: 20}, "x"), historiantest.Compartment(chronicle.Range{Start: 21, End: 30}, "y"))[:200]}
	endless   = reply{text: strings.Repeat("and then ", 10_000)}
	nothing   = reply{}
	wrongKey  = reply{err: errors.New("401 unauthorized")}
	busy      = reply{err: errors.New("429 rate limit")}
	tooLong   = reply{err: errors.New("prompt is too long: 210000 tokens > 200000 maximum")}
	timeout   = reply{err: &ask.Error{Kind: ask.TimedOut, Err: errors.New("gave up")}}
	aborted   = reply{err: &ask.Error{Kind: ask.Aborted, Err: errors.New("the user stopped it")}}
	suggested = reply{err: &ask.Error{Kind: ask.UnknownModel, Suggestion: "p/right", Err: errors.New("no such model")}}
)

// The models of the job are a/one and b/two. The session's own model is p/live.
func TestOrderOfTheAttempts(t *testing.T) {
	for _, test := range []struct {
		name    string
		replies []reply
		asked   string
		madeBy  chronicle.MadeBy
	}{
		{"valid at once", []reply{valid("x")}, "a/one", chronicle.ByModel},
		{"repaired", []reply{garbage, valid("x")}, "a/one, a/one repair", chronicle.ByRepair},
		{"garbage, bad, nothing, good", []reply{garbage, garbage, nothing, valid("x")}, "a/one, a/one repair, b/two repair, p/live repair", chronicle.ByFallback},
		{"a wrong key is not repaired", []reply{wrongKey, valid("x")}, "a/one, b/two", chronicle.ByFallback},
		{"an empty answer is not repaired", []reply{nothing, garbage, valid("x")}, "a/one, b/two, p/live", chronicle.ByFallback},
		{"a cut answer is repaired", []reply{cut, valid("x")}, "a/one, a/one repair", chronicle.ByRepair},
		{"an endless answer is not repaired", []reply{endless, valid("x")}, "a/one, b/two", chronicle.ByFallback},
		{"a failed repair", []reply{garbage, wrongKey, valid("x")}, "a/one, a/one repair, b/two repair", chronicle.ByFallback},
		{"transient, then valid", []reply{busy, busy, valid("x")}, "a/one, a/one, a/one", chronicle.ByModel},
		{"transient for too long", []reply{busy, busy, busy, valid("x")}, "a/one, a/one, a/one, b/two", chronicle.ByFallback},
		{"another name of the model", []reply{suggested, valid("x")}, "a/one, p/right", chronicle.ByModel},
		{"another name, once", []reply{suggested, suggested, valid("x")}, "a/one, p/right, b/two", chronicle.ByFallback},
		{"all bad", []reply{garbage, garbage, garbage, garbage}, "a/one, a/one repair, b/two repair, p/live repair", chronicle.ByExtraction},
		{"too long is final", []reply{tooLong}, "a/one", chronicle.ByExtraction},
		{"too long in the chain is final", []reply{wrongKey, tooLong}, "a/one, b/two", chronicle.ByExtraction},
		{"a timeout is final", []reply{timeout}, "a/one", chronicle.ByExtraction},
		{"a timeout of the repair is final", []reply{garbage, timeout}, "a/one, a/one repair", chronicle.ByExtraction},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &script{replies: test.replies}
			j := newJob()
			j.Models = []string{"a/one", "b/two", "a/one", "nonsense"}
			res, err := historian.Run(t.Context(), j, s.ports())
			if err != nil {
				t.Fatal(err)
			}
			if got := s.questions(); got != test.asked {
				t.Errorf("asked %s, want %s", got, test.asked)
			}
			if res.MadeBy != test.madeBy {
				t.Errorf("made by %s, want %s", res.MadeBy, test.madeBy)
			}
			// In each case that ends with an extract, a model timed out, refused the prompt as too long, or gave an invalid
			// answer. A shorter chunk may help against each of these.
			if got := res.ShorterMayHelp(); got != (test.madeBy == chronicle.ByExtraction) {
				t.Errorf("a shorter chunk may help: %t", got)
			}
			wantCovered(t, j, res)
			wantAttempts(t, s, res)
		})
	}
}

// If the job can wait, the run writes no extract, so it does not read the raw messages.
func TestRunThatCanWaitMakesNoExtract(t *testing.T) {
	j := newJob()
	j.CanWait, j.Raw = true, func() []historian.Message {
		t.Error("the raw messages were read")
		return nil
	}
	s := &script{replies: []reply{wrongKey, tooLong}}
	res, err := historian.Run(t.Context(), j, s.ports())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Compartments) != 0 || res.Next != j.Chunk.Start || len(res.Attempts) != 2 || !res.ShorterMayHelp() {
		t.Errorf("%+v, may a shorter chunk help: %t", res, res.ShorterMayHelp())
	}
}

// wantAttempts checks that each failed attempt names its problem. Only the last attempt may have succeeded, with a
// valid answer.
func wantAttempts(t *testing.T, s *script, res historian.Result) {
	t.Helper()
	// One attempt can take two questions: if the harness suggests another model, ask.Once asks that model, too.
	if len(res.Attempts) > len(s.asked) || len(res.Attempts) == 0 {
		t.Errorf("%d attempts of %d questions", len(res.Attempts), len(s.asked))
	}
	for i, a := range res.Attempts {
		wasTaken := i == len(res.Attempts)-1 && res.MadeBy != chronicle.ByExtraction
		if wasTaken != (a.Problem == "") {
			t.Errorf("attempt %d of %d: problem %q", i+1, len(res.Attempts), a.Problem)
		}
	}
}

// Bug class H25 (docs/defects.md): an answer without text was not an error, so the run never asked the other models.
func TestBugH25EmptyAnswerGoesToTheNextModel(t *testing.T) {
	for _, empty := range []string{"", " \n\t"} {
		s := &script{replies: []reply{{text: empty}, valid("x")}}
		res, err := historian.Run(t.Context(), newJob(), s.ports())
		if err != nil || res.MadeBy != chronicle.ByFallback || s.questions() != ", p/live" {
			t.Errorf("asked %q, %+v, %v", s.questions(), res, err)
		}
	}
}

func TestAbortInTheHarnessPublishesNothing(t *testing.T) {
	s := &script{replies: []reply{aborted}}
	res, err := historian.Run(t.Context(), newJob(), s.ports())
	if err == nil || ask.Classify(err) != ask.Aborted || len(res.Compartments) != 0 || len(res.Attempts) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// The first pause before a retry is 2 to 3 seconds, and the second is 6 to 8 seconds. The exact length depends only on
// the session and the chunk, so two sessions that have failed at once do not ask again at the same moment.
func TestPausesBetweenRetries(t *testing.T) {
	pauses := func(session string) []time.Duration {
		s := &script{replies: []reply{busy, busy, valid("x")}}
		j := newJob()
		j.Session = session
		if _, err := historian.Run(t.Context(), j, s.ports()); err != nil {
			t.Fatal(err)
		}
		return s.slept
	}
	one := pauses("s")
	if len(one) != 2 || one[0] < 2*time.Second || one[0] > 3*time.Second || one[1] < 6*time.Second || one[1] > 8*time.Second {
		t.Errorf("pauses %v", one)
	}
	if d := cmp.Diff(one, pauses("s")); d != "" {
		t.Error(d)
	}
	if cmp.Equal(one, pauses("another")) {
		t.Error("two sessions come back at the same time")
	}
}

// After the caller's deadline, no caller waits for the result.
func TestCallersDeadlineEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	s := &script{replies: []reply{{err: context.DeadlineExceeded}}}
	if res, err := historian.Run(ctx, newJob(), s.ports()); !errors.Is(err, context.DeadlineExceeded) || len(res.Compartments) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestEndDuringAPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{replies: []reply{busy}}
	ports := s.ports()
	ports.Sleep = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if res, err := historian.Run(ctx, newJob(), ports); !errors.Is(err, context.Canceled) || len(res.Compartments) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestShorterChunkDoesNotCureAWrongKey(t *testing.T) {
	s := &script{replies: []reply{wrongKey, nothing}}
	res, err := historian.Run(t.Context(), newJob(), s.ports())
	if err != nil || res.MadeBy != chronicle.ByExtraction || res.ShorterMayHelp() {
		t.Errorf("%+v, %v", res.Attempts, err)
	}
}

// If the user names no model, the harness chooses. The session's own model comes last, and is not asked twice.
func TestModelsOfAJob(t *testing.T) {
	for _, test := range []struct {
		models []string
		live   string
		want   string
	}{
		{nil, "p/live", ", p/live"},
		{nil, "", ""},
		{[]string{"p/live"}, "p/live", "p/live"},
		{[]string{"x/y/z", " a/b "}, "live", "x/y/z, a/b"},
	} {
		s := &script{replies: []reply{wrongKey, wrongKey, wrongKey}}
		j := newJob()
		j.Models, j.LiveModel = test.models, test.live
		if _, err := historian.Run(t.Context(), j, s.ports()); err != nil {
			t.Fatal(err)
		}
		if got := s.questions(); got != test.want {
			t.Errorf("%v, live %q: asked %q, want %q", test.models, test.live, got, test.want)
		}
	}
}

// If the harness chooses the session's own model, this model is asked for an answer and one repair, but not a third
// time.
func TestModelThatTheHarnessChoseIsNotAskedAgain(t *testing.T) {
	for _, test := range []struct {
		first reply
		want  int
	}{{garbage, 2}, {endless, 1}, {nothing, 2}} {
		asked := 0
		asker := historiantest.AskerFunc(func(context.Context, ask.Request) (ask.Answer, error) {
			asked++
			return ask.Answer{Text: test.first.text, Model: "p/live"}, nil
		})
		j := newJob()
		j.LiveModel = "p/live"
		if _, err := historian.Run(t.Context(), j, historian.Ports{Asker: asker}); err != nil || asked != test.want {
			t.Errorf("%.10q: asked %d times, want %d, %v", test.first.text, asked, test.want, err)
		}
	}
}

// The answer has all elements.
const story = `<output><compartments>
<compartment start="11" end="20" title="one"><p1>- U: Never touch db/schema.sql by hand.</p1><p2>a</p2><p3>b</p3><p4/></compartment>
<compartment start="21" end="%END%" title="two"><p1>port 5433 because 5432 is taken</p1></compartment>
</compartments><facts><NAMING>
* [12-17] the schema is db/schema.sql
* [20-22] the port is 5433
</NAMING></facts>
<events><causal_incident at_compartment="1"><summary>s</summary></causal_incident><causal_incident at_compartment="2"><summary>s</summary></causal_incident></events>
<user_observations>* Careful.</user_observations><meta>%META%</meta></output>`

func storyUntil(end, meta string) reply {
	return reply{text: strings.NewReplacer("%END%", end, "%META%", meta).Replace(story)}
}

// If the last compartment ends with the chunk, its subject may go on after the chunk. So the run leaves this
// compartment, and the facts from its messages, to the next run.
func TestLastCompartmentWaitsForItsEnd(t *testing.T) {
	for _, test := range []struct {
		name              string
		reply             reply
		keepLast, noFacts bool
		kept, next        int
		facts             int
	}{
		{"it ends with the chunk", storyUntil("30", ""), false, false, 1, 21, 1},
		{"room is needed", storyUntil("30", ""), true, false, 2, 31, 2},
		{"it ends before the chunk", storyUntil("27", "<unprocessed_from>28</unprocessed_from>"), false, false, 2, 28, 2},
		{"without facts", storyUntil("30", ""), true, true, 2, 31, 0},
	} {
		j := newJob()
		j.KeepLast, j.WithoutFacts = test.keepLast, test.noFacts
		s := &script{replies: []reply{test.reply}}
		res, err := historian.Run(t.Context(), j, s.ports())
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Compartments) != test.kept || res.Next != test.next || res.Discarded != (test.kept == 1) || len(res.Facts) != test.facts {
			t.Errorf("%s: %+v", test.name, res)
		}
	}
}

func TestResultMeasuresEachCompartment(t *testing.T) {
	j := newJob()
	j.KeepLast = true
	s := &script{replies: []reply{storyUntil("30", "")}}
	res, err := historian.Run(t.Context(), j, s.ports())
	if err != nil {
		t.Fatal(err)
	}
	// The messages of both compartments contain the same anchors, with a weight of 19: a rule of the user (8), a decision
	// of the model (7), the path of the schema (2) and two ports (1 each). Although every message repeats them, each
	// counts once. The first summary has the rule and the path, the second has the decision and the ports.
	one, two := res.Compartments[0], res.Compartments[1]
	if one.Fidelity != 10.0/19 || one.Missing != "We decided to use port 5433 because 5432 is taken. · 5432 · 5433" {
		t.Errorf("first: %+v", one)
	}
	if two.Fidelity != 9.0/19 || two.Missing != "Never touch db/schema.sql by hand. · db/schema.sql" {
		t.Errorf("second: %+v", two)
	}
	if got := res.Fidelity(); got != 0.5 {
		t.Errorf("fidelity %v", got)
	}
	if got, want := res.Usage(), (ask.Usage{Input: 5000, Output: 500}); got != want {
		t.Errorf("usage %+v", got)
	}
}

// The receipt of a compartment counts the anchors of the compartment's own messages, not of the whole chunk.
func TestReceiptIsOfItsRange(t *testing.T) {
	j := newJob()
	j.KeepLast = true
	j.Raw = func() []historian.Message {
		return []historian.Message{{Ordinal: 12, Role: historian.Assistant, Texts: []string{"see only/in/first.go"}}}
	}
	s := &script{replies: []reply{storyUntil("30", "")}}
	res, err := historian.Run(t.Context(), j, s.ports())
	if err != nil {
		t.Fatal(err)
	}
	if one, two := res.Compartments[0], res.Compartments[1]; one.Missing != "only/in/first.go" || two.Fidelity != 1 || two.Missing != "" {
		t.Errorf("%+v, %+v", one, two)
	}
}

func TestEditorChangesTiersOnly(t *testing.T) {
	edited := strings.NewReplacer("- U: Never", "U: Never", "the schema is db/schema.sql", "something else", `importance="50"`, `importance="1"`)
	draft := storyUntil("30", "")
	better := reply{text: edited.Replace(draft.text)}
	for _, test := range []struct {
		name   string
		editor reply
		edited bool
	}{
		{"better tiers", better, true},
		{"junk", garbage, false},
		{"nothing", nothing, false},
		{"a failure", wrongKey, false},
		{"another failure", timeout, false},
		{"another title", reply{text: strings.Replace(better.text, `title="two"`, `title="deux"`, 1)}, false},
		{"other ranges", reply{text: strings.NewReplacer(`end="20"`, `end="19"`, `start="21"`, `start="20"`).Replace(better.text)}, false},
	} {
		j := newJob()
		j.Edit, j.KeepLast = true, true
		s := &script{replies: []reply{draft, test.editor}}
		res, err := historian.Run(t.Context(), j, s.ports())
		if err != nil {
			t.Fatal(err)
		}
		if s.questions() != ", editor" || res.Edited != test.edited || res.MadeBy != chronicle.ByModel {
			t.Errorf("%s: asked %s, edited %t", test.name, s.questions(), res.Edited)
		}
		if got := strings.HasPrefix(res.Compartments[0].Tiers[0], "U: Never"); got != test.edited {
			t.Errorf("%s: %q", test.name, res.Compartments[0].Tiers[0])
		}
		if len(res.Facts) != 2 || res.Facts[0].Content != "the schema is db/schema.sql" {
			t.Errorf("%s: facts %+v", test.name, res.Facts)
		}
	}
}

// The editor must not get an endless draft, because it would read the whole draft and write an equally long answer.
func TestEditorGetsNoEndlessDraft(t *testing.T) {
	draft := storyUntil("30", "")
	draft.text += endless.text
	j := newJob()
	j.Edit = true
	s := &script{replies: []reply{draft}}
	if res, err := historian.Run(t.Context(), j, s.ports()); err != nil || res.MadeBy != chronicle.ByModel || len(s.asked) != 1 {
		t.Errorf("asked %d times, made by %s, %v", len(s.asked), res.MadeBy, err)
	}
}

func TestBrokenChunkIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*historian.Job){
		"no lines":      func(j *historian.Job) { j.Chunk.Lines = nil },
		"another start": func(j *historian.Job) { j.Chunk.Start-- },
		"another end":   func(j *historian.Job) { j.Chunk.End++ },
		"out of order":  func(j *historian.Job) { j.Chunk.Lines[3], j.Chunk.Lines[4] = j.Chunk.Lines[4], j.Chunk.Lines[3] },
	} {
		j := newJob()
		spoil(&j)
		s := &script{}
		if _, err := historian.Run(t.Context(), j, s.ports()); err == nil || len(s.asked) != 0 {
			t.Errorf("%s: %v after %d questions", name, err, len(s.asked))
		}
		if _, err := historian.Extractive(j); err == nil {
			t.Errorf("%s: extractive", name)
		}
	}
}

func TestExtractiveAsksNoModel(t *testing.T) {
	j := newJob()
	res, err := historian.Extractive(j)
	if err != nil || res.MadeBy != chronicle.ByExtraction || len(res.Attempts) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	wantCovered(t, j, res)
	if res.Fidelity() != 1 {
		t.Errorf("fidelity %v of a short range: %+v", res.Fidelity(), res.Compartments[0])
	}
}
