package store

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// A model imitates the store of one session in memory, without SQL.
type model struct {
	session SessionRow
	known   bool
	units   map[int]UnitRow
	edits   map[editKey]EditRow
	queued  map[int]DropRow
	replies map[string]string
	usage   map[int]Usage
	// thinking is keyed by message.
	thinking map[string]ThinkingRow
}

type editKey struct {
	tag  int
	kind string
}

func newModel() *model {
	return &model{
		session: SessionRow{Key: key, Mode: "primary"},
		units:   map[int]UnitRow{}, edits: map[editKey]EditRow{}, queued: map[int]DropRow{},
		replies: map[string]string{}, usage: map[int]Usage{}, thinking: map[string]ThinkingRow{},
	}
}

func (m *model) touch() {
	m.session.UpdatedAt, m.known = now, true
}

func (m *model) snapshot() Snapshot {
	snap := Snapshot{Session: m.session}
	for _, u := range m.units {
		snap.Units = append(snap.Units, u)
	}
	for _, e := range m.edits {
		snap.Edits = append(snap.Edits, e)
	}
	for _, d := range m.queued {
		snap.Queued = append(snap.Queued, d)
	}
	for _, t := range m.thinking {
		snap.Thinking = append(snap.Thinking, t)
	}
	slices.SortFunc(snap.Thinking, func(a, b ThinkingRow) int { return cmp.Compare(a.MessageKey, b.MessageKey) })
	slices.SortFunc(snap.Units, func(a, b UnitRow) int { return a.Tag - b.Tag })
	slices.SortFunc(snap.Edits, func(a, b EditRow) int { return cmp.Or(a.Tag-b.Tag, cmp.Compare(a.Kind, b.Kind)) })
	slices.SortFunc(snap.Queued, func(a, b DropRow) int { return cmp.Or(cmp.Compare(a.QueuedAt, b.QueuedAt), a.Tag-b.Tag) })
	return snap
}

func (m *model) commit(p PassCommit) {
	kept := m.session
	m.session = p.Session
	m.session.TagCounter = max(kept.TagCounter, p.Session.TagCounter)
	m.session.InputTokens, m.session.CacheRead, m.session.CacheWrite = kept.InputTokens, kept.CacheRead, kept.CacheWrite
	m.session.PromptTokens, m.session.System = kept.PromptTokens, kept.System
	m.session.ExplicitFlush = kept.ExplicitFlush && !p.FlushDone
	m.session.System.Pending = m.session.System.Pending && !p.SystemSent
	m.touch()
	m.insert(p.Units)
	for _, e := range p.Edits {
		m.edits[editKey{e.Tag, e.Kind}] = e
	}
	for _, tag := range p.Drained {
		delete(m.queued, tag)
	}
	for _, t := range p.Thinking {
		if _, bound := m.thinking[t.MessageKey]; !bound {
			m.thinking[t.MessageKey] = t
		}
	}
	for _, key := range p.LostThinking {
		if t, bound := m.thinking[key]; bound && t.LostPass == 0 {
			t.LostPass = p.Pass.Pass
			m.thinking[key] = t
		}
	}
}

// The method `insert` stores units. Suppose that a drop is queued for a tag, and one of the units now has this tag. The
// drop was meant for an older unit with the same tag, so it is deleted.
func (m *model) insert(units []UnitRow) {
	for _, u := range units {
		m.units[u.Tag] = u
	}
	if len(units) == 0 {
		return
	}
	for tag, d := range m.queued {
		if u, ok := m.units[tag]; ok && u.UnitKey != d.UnitKey {
			delete(m.queued, tag)
		}
	}
}

func (m *model) queue(units []UnitRow, drops []DropRow, reply ToolReplyRow) {
	if !m.known {
		m.touch()
	}
	m.insert(units)
	for _, u := range units {
		m.session.TagCounter = max(m.session.TagCounter, u.Tag)
	}
	if reply.CallID != "" {
		if _, answered := m.replies[reply.CallID]; answered {
			return
		}
		m.replies[reply.CallID] = reply.Reply
	}
	for _, d := range drops {
		if _, waits := m.queued[d.Tag]; !waits {
			m.queued[d.Tag] = d
		}
	}
}

func (m *model) report(pass int, u Usage) {
	if pass < 1 || pass > m.session.Passes {
		return
	}
	m.usage[pass] = u
	m.session.InputTokens, m.session.CacheRead, m.session.CacheWrite = 0, 0, 0
	newest := 0
	for pass, u := range m.usage {
		m.session.InputTokens += int64(u.Input)
		m.session.CacheRead += int64(u.CacheRead)
		m.session.CacheWrite += int64(u.CacheWrite)
		newest = max(newest, pass)
	}
	last := m.usage[newest]
	m.session.PromptTokens = last.Input + last.CacheRead + last.CacheWrite
	m.touch()
}

func (m *model) removeMessages(messageKeys []string) {
	for _, key := range messageKeys {
		delete(m.thinking, key)
	}
	for tag, u := range m.units {
		if !slices.Contains(messageKeys, u.MessageKey) {
			continue
		}
		delete(m.units, tag)
		delete(m.queued, tag)
		for k := range m.edits {
			if k.tag == tag {
				delete(m.edits, k)
			}
		}
	}
}

var (
	genText    = rapid.StringN(0, 12, 40)
	genMessage = rapid.Map(rapid.IntRange(0, 20), func(n int) string { return "msg_" + strconv.Itoa(n) })
	genUsage   = rapid.Custom(func(t *rapid.T) Usage {
		n := rapid.IntRange(0, 1<<40)
		return Usage{Input: n.Draw(t, "input"), CacheRead: n.Draw(t, "read"), CacheWrite: n.Draw(t, "write")}
	})
)

// drawCommit draws the next pass. The tags of its units ascend, but some numbers may be missing.
func drawCommit(t *rapid.T, m *model) PassCommit {
	size := rapid.IntRange(0, 1<<40)
	p := PassCommit{FlushDone: rapid.Bool().Draw(t, "flushDone"), SystemSent: rapid.Bool().Draw(t, "systemSent")}
	p.Session = SessionRow{
		Key: key, Directory: genText.Draw(t, "directory"), Parent: genText.Draw(t, "parent"),
		Mode:     rapid.SampledFrom([]string{"primary", "primary-no-reduce", "subagent"}).Draw(t, "mode"),
		Provider: genText.Draw(t, "provider"), Model: genText.Draw(t, "model"),
		Epoch: size.Draw(t, "epoch"), Passes: m.session.Passes + 1, Busts: size.Draw(t, "busts"),
		WireMessages: size.Draw(t, "wireMessages"), WireChain: genText.Draw(t, "chain"),
		RawMessages: size.Draw(t, "raw"), RawTokens: size.Draw(t, "rawTokens"), RawChain: genText.Draw(t, "rawChain"), LastPassAt: int64(size.Draw(t, "at")),
		Agent: genText.Draw(t, "agent"), LimitTokens: size.Draw(t, "limit"), LostBlocks: size.Draw(t, "lost"), Setup: SetupState{Binds: rapid.Bool().Draw(t, "binds"), Preamble: size.Draw(t, "preamble")},
	}
	p.Units = drawUnits(t, m)
	tag := m.session.TagCounter
	if n := len(p.Units); n > 0 {
		tag = p.Units[n-1].Tag
	}
	p.Session.TagCounter = tag
	if tag > 0 {
		anyTag := rapid.IntRange(1, tag)
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			p.Edits = append(p.Edits, EditRow{
				Tag: anyTag.Draw(t, "editTag"), Kind: rapid.SampledFrom([]string{"drop", "skeleton"}).Draw(t, "editKind"),
				Pass: p.Session.Passes, Payload: genText.Draw(t, "payload"),
			})
		}
		p.Drained = rapid.SliceOfN(anyTag, 0, 3).Draw(t, "drained")
	}
	for range rapid.IntRange(0, 2).Draw(t, "bound") {
		p.Thinking = append(p.Thinking, ThinkingRow{MessageKey: genMessage.Draw(t, "bound message"), Prompt: genText.Draw(t, "prompt")})
	}
	p.LostThinking = rapid.SliceOfN(genMessage, 0, 2).Draw(t, "lost thinking")
	p.Pass = PassRow{
		Pass: p.Session.Passes, Verdict: rapid.SampledFrom([]string{"steady", "soft", "hard"}).Draw(t, "verdict"),
		Cause: genText.Draw(t, "cause"), Bust: rapid.Bool().Draw(t, "bust"), Pressure: rapid.Float64Range(0, 2).Draw(t, "pressure"),
	}
	return p
}

// drawUnits draws new units with unique keys. The # in a key separates the text from the tag. Without it, the text "1"
// with the tag 2 and the empty text with the tag 12 would give the same key.
func drawUnits(t *rapid.T, m *model) []UnitRow {
	size := rapid.IntRange(0, 1<<40)
	var units []UnitRow
	tag := m.session.TagCounter
	for range rapid.IntRange(0, 6).Draw(t, "units") {
		tag += rapid.IntRange(1, 3).Draw(t, "gap")
		units = append(units, UnitRow{
			Tag: tag, UnitKey: genText.Draw(t, "unitKey") + "#" + strconv.Itoa(tag), MessageKey: genMessage.Draw(t, "message"),
			Kind: rapid.SampledFrom([]string{"text", "file", "tool"}).Draw(t, "kind"), Tool: genText.Draw(t, "tool"),
			Bytes: size.Draw(t, "bytes"), Tokens: size.Draw(t, "tokens"), InputBytes: size.Draw(t, "inputBytes"), InputTokens: size.Draw(t, "inputTokens"),
		})
	}
	return units
}

func TestLoadEqualsTheModelAfterAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s, err := Open(t.Context(), options(dir))
		ok(rt, err)
		defer func() { s.Close() }()
		m, ctx := newModel(), t.Context()
		rt.Repeat(map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				p := drawCommit(rt, m)
				ok(rt, s.CommitPass(ctx, p))
				m.commit(p)
			},
			"queue": func(rt *rapid.T) {
				units := drawUnits(rt, m)
				known := maps.Clone(m.units)
				for _, u := range units {
					known[u.Tag] = u
				}
				var drops []DropRow
				for range rapid.IntRange(0, 4).Draw(rt, "drops") {
					tag := rapid.IntRange(1, 20).Draw(rt, "tag")
					drops = append(drops, DropRow{
						Tag: tag, UnitKey: known[tag].UnitKey, QueuedAt: int64(rapid.IntRange(0, 5).Draw(rt, "queuedAt")),
					})
				}
				reply := ToolReplyRow{CallID: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "call"), Reply: genText.Draw(rt, "reply")}
				ok(rt, s.QueueDrops(ctx, key, units, drops, reply))
				m.queue(units, drops, reply)
			},
			"usage": func(rt *rapid.T) {
				pass, u := rapid.IntRange(0, m.session.Passes+1).Draw(rt, "pass"), genUsage.Draw(rt, "usage")
				ok(rt, s.SaveUsage(ctx, key, pass, u.Input, u.CacheRead, u.CacheWrite))
				m.report(pass, u)
			},
			"system": func(rt *rapid.T) {
				m.session.System = SystemState{StickyDate: genText.Draw(rt, "date"), StickyDateEpoch: 4, SystemHash: genText.Draw(rt, "hash"), SystemTokens: 5, Text: genText.Draw(rt, "system"), Preamble: 3, Pending: rapid.Bool().Draw(rt, "pending"), At: 6}
				ok(rt, s.SaveSystem(ctx, key, m.session.System))
				m.touch()
			},
			"flush": func(rt *rapid.T) {
				ok(rt, s.RequestFlush(ctx, key, now))
				m.session.ExplicitFlush = true
				m.touch()
			},
			"removeMessages": func(rt *rapid.T) {
				keys := rapid.SliceOfN(genMessage, 0, 3).Draw(rt, "messages")
				ok(rt, s.RemoveMessages(ctx, key, keys))
				m.removeMessages(keys)
			},
			"delete": func(rt *rapid.T) {
				ok(rt, s.DeleteSession(ctx, key))
				*m = *newModel()
			},
			"reopen": func(rt *rapid.T) {
				ok(rt, s.Close())
				s, err = Open(ctx, options(dir))
				ok(rt, err)
			},
			"": func(rt *rapid.T) {
				got, found, err := s.Load(ctx, key)
				ok(rt, err)
				if found != m.known {
					rt.Fatalf("found is %v, want %v", found, m.known)
				}
				if diff := gocmp.Diff(m.snapshot(), got, cmpopts.EquateEmpty()); found && diff != "" {
					rt.Fatalf("snapshot (-want +got):\n%s", diff)
				}
			},
		})
	})
}

func ok(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
