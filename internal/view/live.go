package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

type Live struct {
	// Before the host's first answer, Status is nil.
	Status *schema.StatusResult
	// Away says why the host does not answer. It is empty while the host answers. AwaySince is the time when the host
	// stopped answering.
	Away      string
	AwaySince time.Time
	Color     bool
	ASCII     bool
	Program   string
	Choice    Choice
	// Page, if not nil, covers the screen with a text.
	Page *TextPage
	// News are the events of the newest answer. A screen reader reads them, so each event has one line.
	News []string
	// `requests` lists the newest requests of each session, the newest last. The view knows only requests that it has
	// seen in an answer of the host. So if the first one in a list had already begun when the view started, its figures
	// may be incomplete.
	requests map[string][]request
}

// The lines of a TextPage may have any length. Top is the number of lines that are scrolled out of the screen.
type TextPage struct {
	Title, Text string
	Top         int
}

const maxRequests = 200

// A request is one request of a session, as the view learned of it. If several requests came between two answers of the
// host, one value stands for all of them.
type request struct {
	number, count int
	at            int64 // Unix ms
	isBust        bool
	cause         string
	// `tokens` is the size of the prompt. It is an estimate until isMeasured is true. `all` is the number of prompt
	// tokens that the provider reported, and `read` is how many of them came from its cache.
	tokens            int
	isMeasured        bool
	read, all         int64
	readThen, allThen int64 // the sums of the session before this request
}

// Heard returns the view after an answer of the host. If the host did not answer, `status` is nil, and `away` gives the
// reason. The view then still shows the last status.
func (v Live) Heard(status *schema.StatusResult, away string, now time.Time) Live {
	v.News = nil
	switch {
	case status != nil:
		if v.Status != nil && v.Away != "" {
			v.News = append(v.News, "The host answers again.")
		}
		v.noteEvents(*status, now)
		v.Status, v.Away = status, ""
	case v.Away == "":
		v.Away, v.AwaySince = away, now
		v.News = append(v.News, "The host does not answer: "+format.Clean(away)+". Trying again.")
	default:
		v.Away = away
	}
	return v
}

func (v *Live) noteEvents(st schema.StatusResult, now time.Time) {
	if v.requests == nil {
		v.requests = make(map[string][]request)
	}
	said := make(map[string]bool)
	if v.Status != nil {
		for _, w := range v.Status.Warnings {
			said[w.Message] = true
		}
		for _, s := range v.Status.Sessions {
			for _, text := range worksOf(s, now) {
				said[text] = true
			}
		}
	}
	isFirst := v.Status == nil
	say := func(text string) {
		if !isFirst {
			v.News = append(v.News, text)
		}
	}
	for _, w := range st.Warnings {
		if !said[w.Message] {
			say("Warning: " + format.Clean(w.Message))
		}
	}
	for _, s := range st.Sessions {
		for _, text := range worksOf(s, now) {
			if !said[text] {
				say(text)
			}
		}
		for _, r := range v.noteRequest(s) {
			say(r.sentence(s, now))
		}
	}
}

// worksOf describes the faults of a session and the work of its agents, one sentence each.
func worksOf(st schema.SessionStatus, now time.Time) (all []string) {
	for _, f := range words.Panel(st, nil, now).Facts {
		if f.Tone == "alarm" || f.Tone == "work" {
			all = append(all, titleOf(st)+", "+f.Label+": "+f.Text)
		}
	}
	return all
}

// noteRequest records the newest request. It returns the requests whose figures are now final.
func (v *Live) noteRequest(st schema.SessionStatus) (done []request) {
	name, all := nameOf(st), st.CacheRead+st.CacheWrite+st.CacheFresh
	log := v.requests[name]
	last := request{}
	if len(log) > 0 {
		last = log[len(log)-1]
	}
	switch {
	case st.Passes == 0:
		return nil
	case st.Passes != last.number:
		isFirst := last.number == 0 // the view has seen no earlier request
		if !isFirst && !last.isMeasured {
			done = append(done, last)
		}
		next := request{
			number: st.Passes, count: max(1, st.Passes-last.number), at: st.LastPassAt, isBust: st.LastPassBust, cause: st.LastCause,
			tokens: st.SizeTokens, readThen: st.CacheRead, allThen: all,
		}
		if isFirst && v.Status == nil {
			next.count, next.tokens, next.isMeasured = 1, st.InputTokens, true
		} else if isFirst {
			next.count = 1
		}
		log = append(log, next)
	case !last.isMeasured && all > last.allThen:
		last.tokens, last.read, last.all, last.isMeasured = st.InputTokens, st.CacheRead-last.readThen, all-last.allThen, true
		log = append(slices.Clone(log[:len(log)-1]), last)
		done = append(done, last)
	}
	v.requests[name] = log[max(0, len(log)-maxRequests):]
	return done
}

// hits returns the share of the prompt that came from the cache, or "-".
func (r request) hits() string {
	if r.all <= 0 {
		return "-"
	}
	return format.Percent(float64(r.read) / float64(r.all))
}

// effect says what magicctx did, for example "bust: threshold".
func (r request) effect() string {
	text := "no bust"
	switch cause := format.Cause(r.cause); {
	case r.isBust && cause != "":
		text = "bust: " + cause
	case r.isBust:
		text = "bust"
	case cause != "":
		text += ": " + cause
	}
	if r.count > 1 {
		text += fmt.Sprintf("; the last of %d requests", r.count)
	}
	return text
}

func (r request) sentence(st schema.SessionStatus, now time.Time) string {
	parts := []string{fmt.Sprintf("%s %s, request %d", timeOf(r.at, now), titleOf(st), r.number)}
	if r.tokens > 0 {
		parts = append(parts, format.Tokens(r.tokens)+" tokens")
	}
	if hits := r.hits(); hits != "-" {
		parts = append(parts, hits+" from the cache")
	}
	return strings.Join(append(parts, r.effect()), ", ")
}

func timeOf(ms int64, now time.Time) string {
	return time.UnixMilli(ms).In(now.Location()).Format(time.TimeOnly)
}

func (s *screen) session(st schema.SessionStatus, log []request) {
	s.picture(st)
	full := *s
	full.lines = nil
	if full.facts(st); s.room() < len(full.lines)+page {
		full.lines = nil
		for _, f := range words.Panel(st, nil, s.now).Facts {
			colour := map[string]Colour{"alarm": Alarm, "notice": Notice, "work": Good}[f.Tone]
			full.factIn(colour, f.Label, f.Text)
		}
	}
	s.lines = append(s.lines, full.lines...)
	s.line(s.Paint(Faint, format.Cut(" "+format.Left("REQUEST", 8)+format.Left("AT", 10)+format.Right("TOKENS", 6)+format.Right("FULL", 6)+format.Right("HITS", 6)+"  WHAT MAGICCTX DID", s.width)))
	for _, r := range slices.Backward(log) {
		full, colour := "?", Plain
		if st.ContextTokens > 0 {
			full = format.Percent(float64(r.tokens) / float64(st.ContextTokens))
		}
		if r.isBust {
			colour = Notice
		}
		line := " " + format.Left(fmt.Sprint(r.number), 8) + format.Left(timeOf(r.at, s.now), 10) + format.Right(format.Tokens(r.tokens), 6) + format.Right(full, 6) + format.Right(r.hits(), 6) + "  " + r.effect()
		s.line(s.Paint(colour, format.Cut(line, s.width)))
	}
	if len(log) == 0 {
		s.paragraph(Faint, " ", "No request yet.")
	}
}

// text draws a page of text. A line that is longer than the screen continues on the next line, with the same
// indentation.
func (s *screen) text(p TextPage) {
	s.line(" " + s.Paint(Strong, format.Cut(format.Clean(p.Title), s.width-2)))
	for line := range strings.Lines(format.CleanLines(p.Text)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n "), "\t", "    ")
		margin := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for format.Columns(line) > s.width {
			used, at, blank := 0, 0, -1
			for i, r := range line {
				if r == ' ' && i > len(margin) {
					blank = i
				}
				if used += format.RuneColumns(r); used > s.width {
					break
				}
				at = i + len(string(r))
			}
			if blank < 0 { // a word that is longer than the screen
				s.line(line[:at])
				line = line[at:]
				continue
			}
			s.line(line[:blank])
			line = margin + strings.TrimLeft(line[blank:], " ")
		}
		s.line(line)
	}
}

// PrintNews prints each event on one line and never breaks it, because a screen reader reads line by line.
func PrintNews(w io.Writer, v Live, p Page) error {
	if len(v.News) == 0 {
		return nil
	}
	s := p.screen()
	for _, text := range v.News {
		s.line(text)
	}
	return s.print(w)
}
