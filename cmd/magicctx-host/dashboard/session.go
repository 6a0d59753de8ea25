package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/view/page"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
)

const (
	// maxBusts limits the busts of a page, and maxPieces the units of each bust, because a longer page would be slow to
	// draw.
	maxBusts, maxPieces = 300, 100
	// maxMessages limits the size of the messages that one request returns, in bytes.
	maxMessages = 512 << 10
)

// All texts of a sessionPage are safe to show.
type sessionPage struct {
	Title string `json:"title"`
	Where string `json:"where"`
	// Panel shows the parts of the newest prompt. If no host knows the session, Panel has no facts.
	Panel *schema.Panel `json:"panel"`
	// Timeline is nil if the provider has reported no usage yet. Model is the model whose prices the bill uses.
	Timeline *page.Timeline `json:"timeline,omitzero"`
	Model    string         `json:"model"`
	// Busts are the newest requests that changed the cached prefix, newest first. More counts the older busts, which
	// the page does not show.
	Busts []bust `json:"busts"`
	More  int    `json:"more"`
	// Kept lists the pieces that the user keeps. It is null if no host knows the session. The user then cannot
	// keep anything, because only a host can store it.
	Kept []keptPiece `json:"kept"`
	// The oldest summary comes first.
	Summaries []chronicle.Compartment `json:"summaries"`
}

type bust struct {
	Request int    `json:"request"`
	At      int64  `json:"at,omitzero"` // Unix ms; 0 if the journal no longer has the request
	Cause   string `json:"cause,omitzero"`
	// Size is the size of the prompt before and after the bust ("61k → 32k tokens"). If the size before is unknown, it
	// is only the size after.
	Size  string `json:"size,omitzero"`
	Facts []fact `json:"facts"`
	// Pieces are the largest units that the bust dropped. More counts the other units, and MoreTokens is their total
	// size.
	Pieces     []piece `json:"pieces"`
	More       int     `json:"more,omitzero"`
	MoreTokens string  `json:"moreTokens,omitzero"`
}

type fact struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

type piece struct {
	Tag    int    `json:"tag"`
	Name   string `json:"name"` // for example "§12§ read src/main.go"
	Tokens string `json:"tokens"`
	Rule   string `json:"rule,omitzero"`
	Now    string `json:"now"` // what the model sees in its place
	size   int
}

const maxSessions = 200

type sessionLink struct {
	Harness string `json:"harness"`
	Session string `json:"session"`
	Title   string `json:"title"`
	Where   string `json:"where"`
}

// More counts the sessions that have no link because the list is too long.
type sessionLinks struct {
	Links []sessionLink `json:"links"`
	More  int           `json:"more"`
}

// sessions lists the newest session first. The page learns from the host's events which sessions are live.
func (p *pages) sessions(r *http.Request) (sessionLinks, error) {
	out := sessionLinks{Links: []sessionLink{}}
	err := store.Browse(r.Context(), p.Dir, func(b *store.Browser) error {
		all, err := b.Sessions()
		for _, s := range all[:min(len(all), maxSessions)] {
			out.Links = append(out.Links, sessionLink{s.Key.Harness, s.Key.Session, format.Clean(cmp.Or(s.Title, s.Key.Session)), format.Clean(s.Key.Harness + " · " + s.Directory)})
		}
		out.More = len(all) - len(out.Links)
		return err
	})
	if errors.Is(err, store.ErrMissing) {
		err = nil
	}
	return out, err
}

func keyIn(r *http.Request) store.Key {
	q := r.URL.Query()
	return store.Key{Harness: q.Get("harness"), Session: q.Get("session")}
}

type missing string

func (m missing) Error() string { return string(m) }

func find(b *store.Browser, key store.Key) (store.SessionName, error) {
	all, err := b.Sessions()
	if err != nil {
		return store.SessionName{}, err
	}
	for _, s := range all {
		if s.Key == key {
			return s, nil
		}
	}
	return store.SessionName{}, missing(fmt.Sprintf("magicctx knows no session %q of %q", format.Clean(key.Session), format.Clean(key.Harness)))
}

func (p *pages) session(r *http.Request) (sessionPage, error) {
	key := keyIn(r)
	var name store.SessionName
	var row store.SessionSummary
	var journal []store.PassRow
	var dropped []store.DroppedRow
	var removals map[int][]store.RemovalRow
	var summaries []chronicle.Compartment
	err := store.Browse(r.Context(), p.Dir, func(b *store.Browser) (err error) {
		if name, err = find(b, key); err != nil {
			return err
		}
		var errs [5]error
		journal, errs[0] = b.Reports().Passes(r.Context(), key, 0, 0)
		dropped, errs[1] = b.Reports().DroppedUnits(r.Context(), key)
		removals, errs[2] = b.Reports().PassRemovals(r.Context(), key)
		summaries, errs[3] = b.Compartments(key)
		row, _, errs[4] = b.Reports().Session(r.Context(), key)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		return sessionPage{}, err
	}
	for i := range summaries {
		clean(&summaries[i])
	}
	out := sessionPage{
		Title: format.Clean(cmp.Or(name.Title, key.Session)),
		Where: format.Clean(key.Harness + " · " + key.Session + " · " + name.Directory), Busts: []bust{}, Summaries: append([]chronicle.Compartment{}, summaries...),
	}
	prices, err := models.View(r.Context(), p.Dir, row.Provider, row.Model)
	if err != nil {
		return sessionPage{}, err
	}
	out.Timeline, out.Model = timelineOf(journal, prices, row.Gauge.Base), format.Clean(row.Provider+"/"+row.Model)
	out.Panel = storedPanel(row, journal)
	about := make(map[int]string)
	if st, err := p.Session(r.Context(), schema.SessionStatusParams{Harness: schema.Harness(key.Harness), Session: key.Session, Dropped: true}); err == nil {
		out.Kept, out.Panel = keptPieces(st.KeptUnits), panelOf(st)
		for _, u := range st.DroppedUnits { // only the host can describe the units, because it has the messages in memory
			about[u.Tag] = u.About
		}
	}
	taken := piecesOf(dropped, about)
	rows := make(map[int]store.PassRow)
	for _, pass := range journal {
		rows[pass.Pass] = pass
	}
	for _, pass := range slices.Backward(putAway(journal, taken, removals)) {
		if len(out.Busts) == maxBusts {
			out.More++
			continue
		}
		out.Busts = append(out.Busts, newBust(pass, rows[pass], prices, taken[pass], removals, summaries))
	}
	return out, nil
}

// panelOf returns the panel of a session. If st comes from the host's list of all sessions, it has no panel, because
// the list must stay small. panelOf then builds the panel from the other fields of st.
func panelOf(st schema.SessionStatus) *schema.Panel {
	if st.Panel != nil {
		return st.Panel
	}
	return words.Panel(st, nil, time.Now())
}

// storedPanel builds a panel from the database. Its facts are empty, because only a running host knows them.
func storedPanel(row store.SessionSummary, journal []store.PassRow) *schema.Panel {
	st := schema.SessionStatus{InputTokens: row.PromptTokens, ContextTokens: row.LimitTokens}
	if st.ContextTokens > 0 {
		st.Pressure = float64(st.InputTokens) / float64(st.ContextTokens)
	}
	for _, pass := range slices.Backward(journal) {
		if pass.Usage != nil {
			s := sourcesOf(pass, row.Gauge.Base)
			st.Tokens = schema.TokensBySource{System: int64(s.System), Head: int64(s.Head + s.Memories), Text: int64(s.Text), ToolResults: int64(s.Results), Thinking: int64(s.Reasoning)}
			break
		}
	}
	p := words.Panel(st, nil, time.Now())
	p.Facts = []schema.PanelFact{}
	return p
}

// putAway returns the numbers of the requests that were busts or that removed content, in ascending order.
func putAway(journal []store.PassRow, taken map[int][]piece, removals map[int][]store.RemovalRow) (passes []int) {
	for _, row := range journal {
		if row.Bust {
			passes = append(passes, row.Pass)
		}
	}
	for pass := range taken {
		passes = append(passes, pass)
	}
	for pass := range removals {
		passes = append(passes, pass)
	}
	slices.Sort(passes)
	return slices.Compact(passes)
}

// piecesOf groups the dropped units by the request that dropped them, the largest unit first.
func piecesOf(dropped []store.DroppedRow, about map[int]string) map[int][]piece {
	taken := make(map[int][]piece)
	for _, d := range dropped {
		size := d.Tokens
		if d.Edit.Kind == "drop" { // a skeleton keeps its input
			size += d.InputTokens
		}
		taken[d.Edit.Pass] = append(taken[d.Edit.Pass], piece{
			Tag: d.Tag, Name: format.Piece(d.Tag, cmp.Or(d.Tool, d.Kind), about[d.Tag]), Tokens: format.Tokens(size), Rule: words.RuleName(d.Edit.Payload),
			Now: view.StandIn(d.Edit.Kind, d.Tag), size: size,
		})
	}
	for _, all := range taken {
		slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(b.size, a.size) })
	}
	return taken
}

// newBust describes one request of the session. If the journal no longer contains the request, `row` is zero.
func newBust(pass int, row store.PassRow, prices models.LimitsRow, pieces []piece, removals map[int][]store.RemovalRow, summaries []chronicle.Compartment) bust {
	b := bust{Request: pass, At: row.At, Pieces: append([]piece{}, pieces[:min(len(pieces), maxPieces)]...), Facts: []fact{}}
	say := func(label, text string) { b.Facts = append(b.Facts, fact{label, text}) }
	if code := cmp.Or(row.BustCause, row.Cause); code != "" {
		b.Cause = format.Cause(code)
		if row.Bust {
			say("why", words.Reason(code))
		}
	}
	knowsBefore := words.KnowsOldSize(row.Cause)
	if knowsBefore && row.Price != (schema.BustPrice{}) {
		say("price", words.Price(row.Price))
	}
	after := row.SizeTokens - row.Price.Removed
	if u := row.Usage; u != nil {
		after = u.Input + u.CacheRead + u.CacheWrite
		text := fmt.Sprintf("read %s of %s tokens from its cache", format.Tokens(u.CacheRead), format.Tokens(after))
		if money := billOf(*u, prices); money > 0 {
			text += "; the prompt cost " + format.AboutDollars(money)
		}
		say("provider", text)
	}
	switch {
	case row.SizeTokens > 0 && knowsBefore:
		b.Size = format.Tokens(row.SizeTokens) + " → " + format.Tokens(after) + " tokens"
	case row.SizeTokens > 0:
		b.Size = format.Tokens(after) + " tokens"
	}
	var taken []string
	for _, rm := range removals[pass] {
		if rm.Rule != store.RuleSummaries {
			taken = append(taken, fmt.Sprintf("%s %s", words.RuleName(rm.Rule), format.Tokens(rm.Tokens)))
			continue
		}
		first := coveredBefore(pass, removals) + 1
		which := fmt.Sprintf("%d-%d", first, rm.Through)
		if first > rm.Through { // the user went back in the session, and the journal does not say how far
			first, which = rm.Through, fmt.Sprintf("up to %d", rm.Through)
		}
		say("messages", fmt.Sprintf("%s, %s tokens. %s", which, format.Tokens(rm.Tokens), standing(first, rm.Through, summaries)))
	}
	if len(taken) > 0 {
		say("pieces", "tokens: "+strings.Join(taken, ", "))
	}
	if len(pieces) == 0 && len(removals[pass]) == 0 {
		say("taken", "nothing")
	}
	rest := 0
	for _, other := range pieces[len(b.Pieces):] {
		b.More++
		rest += other.size
	}
	b.MoreTokens = format.Tokens(rest)
	return b
}

// coveredBefore returns the ordinal of the last message that summaries had replaced before the request `pass`. Only the
// newest earlier removal by summaries counts. An older removal can have a larger ordinal if the user has gone back in
// the session since then, because that withdraws the newest summaries.
func coveredBefore(pass int, removals map[int][]store.RemovalRow) (through int) {
	newest := 0
	for before, all := range removals {
		for _, rm := range all {
			if newest < before && before < pass && rm.Rule == store.RuleSummaries {
				newest, through = before, rm.Through
			}
		}
	}
	return through
}

func standing(first, last int, summaries []chronicle.Compartment) string {
	var titles []string
	for _, c := range summaries {
		if c.Start <= last && c.End >= first {
			titles = append(titles, fmt.Sprintf("%q (%d-%d)", c.Title, c.Start, c.End))
		}
	}
	if len(titles) == 0 {
		return "Their summaries were taken back or made again since."
	}
	return "Now summarised in " + strings.Join(titles, ", ") + "."
}

func clean(c *chronicle.Compartment) {
	c.Title, c.Missing, c.Model, c.Episode = format.Clean(c.Title), format.Clean(c.Missing), format.Clean(c.Model), format.Clean(c.Episode)
	for i := range c.Rules {
		c.Rules[i].Words = format.Clean(c.Rules[i].Words)
	}
	for i := range c.Tiers {
		c.Tiers[i] = strings.TrimSpace(format.CleanLines(c.Tiers[i]))
	}
}

// IsCut means that the text is longer than the page shows.
type messageText struct {
	Text  string `json:"text"`
	IsCut bool   `json:"isCut"`
}

func (p *pages) messages(r *http.Request) (m messageText, err error) {
	first, firstErr := strconv.Atoi(r.URL.Query().Get("first"))
	last, lastErr := strconv.Atoi(r.URL.Query().Get("last"))
	if firstErr != nil || lastErr != nil || first < 1 || last < first {
		return m, errors.New("a range of messages has a first and a last number")
	}
	out := &bounded{left: maxMessages}
	err = p.Messages(r.Context(), keyIn(r), first, last, out)
	if m.IsCut = errors.Is(err, errFull); m.IsCut {
		err = nil
	}
	m.Text = strings.ToValidUTF8(out.String(), "")
	return m, err
}

// A bounded is a buffer with a limit. It keeps the beginning of a text that is too long, and refuses the rest with
// errFull.
type bounded struct {
	strings.Builder
	left int
}

var errFull = errors.New("the text is too long")

func (b *bounded) Write(text []byte) (int, error) {
	n, _ := b.Builder.Write(text[:min(len(text), b.left)])
	b.left -= n
	if n < len(text) {
		return n, errFull
	}
	return n, nil
}
