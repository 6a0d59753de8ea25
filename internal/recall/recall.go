package recall

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
)

const (
	// A pass waits this long for the index. A fact that is found later is delivered with the next new content.
	within = 8 * time.Millisecond
	// After the host has added a line to a session, it adds the next line at least this many passes later.
	apart = 4
	// For this many passes after a line, the host checks whether the model uses the line. It does not record a later
	// use.
	soon = 6
	// The host looks for each found fact in the text that the model already sees. To save time, it does this for at
	// most maxConsidered facts of a lookup.
	maxConsidered = 5
)

// A Recaller adds facts from earlier messages to a session, for example what helped when the same error occurred
// before.
type Recaller struct {
	Options
	reader reader
}

type Options struct {
	// If the index's directory Dir is "", nothing is delivered.
	Dir        string
	Store      *store.Store
	Guard      *store.Guard
	Background *background.Work
	Clock      clock.Clock
	Log        *slog.Logger
	// Within is how long a pass waits: 0 means 8 ms, and a negative value means no wait.
	Within time.Duration
}

func New(o Options) *Recaller { return &Recaller{Options: o} }

// Close must not be called while a lookup is running.
func (r *Recaller) Close() { r.reader.stop() }

func (r *Recaller) Feature() pass.Feature {
	return pass.Feature{
		Copied:  r.copyLines,
		Decided: r.decide,
		Storing: func(ps *pass.Pass, c *store.PassCommit) { c.Recalls = lines.Of(ps.Session).unstored },
		Stored:  func(ps *pass.Pass) { lines.Of(ps.Session).unstored = nil },
	}
}

type told struct {
	isRead   bool
	rows     []store.RecallRow
	unstored []store.RecallRow
	// `asked` maps each file or command to the pass that last looked it up. A session uses the same names again and
	// again, so this saves most lookups.
	asked map[name]int
	// pending is a lookup that was too slow for its pass.
	pending chan []fact
}

var lines = session.NewSlot[told]()

// If an earlier message has a fact about the new content, decide adds a line to the newest unit, which the provider
// has not seen. Like a reminder, the line is a note: it causes no bust, and every later wire repeats it.
func (r *Recaller) decide(ctx context.Context, ps *pass.Pass) {
	s := ps.Session
	if r.Dir == "" || s.Mode().IsSubagent || s.Row.Project == "" {
		return
	}
	news := s.Pipe.News()
	if len(news) == 0 {
		return
	}
	if _, err := os.Stat(index.PathIn(r.Dir)); err != nil {
		return
	}
	t := lines.Of(s)
	number := s.Row.Passes + 1
	if !t.isRead {
		rows, err := r.Store.Recalls(ctx, s.Key)
		if err != nil {
			r.Guard.Wrote(err)
			r.Log.Warn("nothing is recalled, because the database does not answer", "session", s.Key.Session, "error", err)
			return
		}
		t.rows, t.isRead = rows, true
	}
	t.follow(news, s.Row.Directory, number)
	if n := len(t.rows); !ps.Config.Memory.AutoSearch.Enabled || n > 0 && number-t.rows[n-1].Pass < apart {
		return
	}
	tag := s.Pipe.NotePlace()
	if tag == 0 {
		return
	}
	codec := s.Pipe.Codec
	var cues []cue
	for _, n := range slices.Backward(news) {
		c := cueOf(codec.Vocabulary(), n.Part, s.Row.Directory, ps.Config.Memory.AutoSearch.MinPromptChars)
		if len(c.lines) == 0 { // for a prompt, findings are searched, too, so its names are looked up again
			c.names = slices.DeleteFunc(c.names, func(n name) bool { return t.wasAsked(n, number) })
		}
		if !c.isEmpty() {
			cues = append(cues, c)
		}
	}
	for _, f := range r.lookUp(t, s, cues, ps.Config.Memory.AutoSearch.ScoreThreshold) {
		if t.has(f.id()) || isVisible(&f, s.Pipe, ps.Decision) {
			continue
		}
		text := f.line(s.Key.Harness, s.Key.Session)
		row := store.RecallRow{
			Tag: tag, Pass: number, SourceSession: f.session, Ordinal: f.ordinal, Fact: f.id(), Names: f.names(), Tokens: tokens.Count(note(text)),
		}
		t.rows, t.unstored = append(t.rows, row), append(t.unstored, row)
		ps.Note(tag, note(text))
		r.Log.Debug("told the model what an earlier message knows", "session", s.Key.Session, "pass", number, "tag", tag, "source", f.session, "ordinal", f.ordinal, "score", f.score)
		return
	}
}

func note(line string) string { return "<system-reminder>\n" + line + "\n</system-reminder>" }

// lookUp returns the facts about the cues. If an earlier lookup was too slow for its pass and is still pending, lookUp
// starts no new one, and returns the facts of the earlier lookup when they are ready.
func (r *Recaller) lookUp(t *told, s *session.Session, cues []cue, least float64) (facts []fact) {
	if t.pending == nil {
		if len(cues) == 0 {
			return nil
		}
		in := scope{project: s.Row.Project, harness: s.Key.Harness, session: s.Key.Session, through: s.Pipe.State.Head.Ordinal}
		units := s.Pipe.State.Units()
		for i := range units {
			if u := &units[i]; !u.Active() && !u.Covered {
				in.dropped = append(in.dropped, index.Part{Message: u.MessageKey, IsCall: u.Kind == frozen.ToolUnit})
			}
		}
		found := make(chan []fact, 1)
		t.pending = found
		r.Background.Go(func() {
			var facts []fact
			err := r.reader.use(r.Background.Lifetime(), r.Dir, func(x *index.Index) (err error) {
				facts, err = find(r.Background.Lifetime(), x, in, cues, least)
				return err
			})
			if err != nil && !errors.Is(err, index.ErrMissing) {
				r.Log.Info("nothing is recalled", "session", in.session, "error", err)
			}
			found <- facts
		})
	}
	if r.Within < 0 {
		return nil
	}
	wait := time.NewTimer(cmp.Or(r.Within, within))
	defer wait.Stop()
	select {
	case facts = <-t.pending:
		t.pending = nil
	case <-wait.C:
	}
	return facts[:min(len(facts), maxConsidered)]
}

func isVisible(f *fact, p *pipeline.Session, d pipeline.Decision) (is bool) {
	p.EachVisible(d, func(text []byte) bool {
		is = f.isSeen(text)
		return !is
	})
	return is
}

// id returns a hash of a fact's text, by which the host recognises a fact that the session already has. A session gets
// each fact only once.
func (f *fact) id() int64 {
	h := fnv.New64a()
	text := f.lead + " " + f.text
	if f.remedy != nil {
		text = f.remedy.sentence + " " + f.remedy.command + " " + f.remedy.file
	}
	h.Write([]byte(strings.Join(strings.Fields(strings.ToLower(text)), " ")))
	return int64(h.Sum64())
}

// wasAsked also notes that the name is looked up now.
func (t *told) wasAsked(n name, number int) bool {
	const again = 50
	at, ok := t.asked[n]
	if ok && number-at < again {
		return true
	}
	if t.asked == nil {
		t.asked = map[name]int{}
	}
	t.asked[n] = number
	return false
}

func (t *told) has(fact int64) bool {
	return slices.ContainsFunc(t.rows, func(r store.RecallRow) bool { return r.Fact == fact })
}

// The method `names` returns a JSON array of the files and commands in a fact, without the name that the fact is
// about.
func (f *fact) names() string {
	text := f.lead + " " + f.text
	all := []string{}
	if r := f.remedy; r != nil {
		text = r.sentence
		all = append(all, slices.DeleteFunc([]string{commandOf(r.command), r.file}, func(s string) bool { return s == "" })...)
	}
	for _, n := range namesIn(text) {
		if n.kind != aSymbol && (f.about == "" || !means(n, name{f.about, n.kind})) {
			all = append(all, n.text)
		}
	}
	array, _ := json.Marshal(all) // texts always encode
	return string(array)
}

// follow records which of the newest lines the model has used in its new calls.
func (t *told) follow(news []pipeline.New, directory string, number int) {
	for i := len(t.rows) - 1; i >= 0 && number-t.rows[i].Pass <= soon; i-- {
		row := &t.rows[i]
		if row.ActedPass != 0 || row.Pass == number {
			continue
		}
		for _, n := range news {
			if n.Part.Kind == transcript.Tool && isFollowed(row, n.Part, directory) {
				row.ActedPass = number
				t.unstored = append(t.unstored, *row)
				break
			}
		}
	}
}

func isFollowed(row *store.RecallRow, p *transcript.Part, directory string) bool {
	if transcript.ToolName(p.Name) == transcript.ExpandTool {
		var a struct {
			Start   int    `json:"start"`
			End     int    `json:"end"`
			Session string `json:"session"`
		}
		_ = json.Unmarshal(p.Input, &a) // a wrong call shows no message
		return (a.Session == row.SourceSession || a.Session == "") && a.Start <= row.Ordinal && row.Ordinal <= max(a.Start, a.End)
	}
	var named []string
	_ = json.Unmarshal([]byte(row.Names), &named)
	input := string(p.Input)
	for _, n := range named {
		if n != "" && (holdsPhrase(input, n) || holdsPhrase(input, relative(directory, n))) {
			return true
		}
	}
	return false
}

// The units of a fork contain the lines that were added to the original's units. So copyLines also copies the rows of
// these lines.
func (r *Recaller) copyLines(ctx context.Context, s *session.Session, original store.Key) error {
	rows, err := r.Store.Recalls(ctx, original)
	if err == nil {
		t := lines.Of(s)
		t.rows, t.isRead = rows, true
		for i := range t.rows { // a fork counts its passes from 1
			t.rows[i].Pass = 0
		}
		t.unstored = slices.Clone(t.rows)
	}
	return err
}
