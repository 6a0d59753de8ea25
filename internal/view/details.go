package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A source is a part of a session's content, for example tool output.
type source struct {
	name   string
	tokens int64
}

func sources(t schema.TokensBySource) []source {
	return []source{
		{"system prompt", t.System},
		{"text", t.Text},
		{"files", t.Files},
		{"tool inputs", t.ToolInputs},
		{"tool results", t.ToolResults},
	}
}

// labelColumns is the width of the labels that stand left of a session's facts.
const labelColumns = 15

// details draws everything that is known about one session.
func (s *screen) details(st schema.SessionStatus) {
	s.title(st)
	all := sources(st.Tokens)
	most := int64(1)
	for _, part := range all {
		most = max(most, part.tokens)
	}
	cells := min(40, s.width-labelColumns-10)
	for _, part := range all {
		s.fact(part.name, left(format.Tokens(part.tokens), 6)+bar(float64(part.tokens)/float64(most), cells))
	}
	s.fact("dropped", left(format.Tokens(st.Tokens.Dropped), 6)+countsOf(st))
	s.line("")
	s.fact("window", windowOf(st, s.now))
	s.fact("cache", cacheOf(st))
	if st.BindsThinking {
		s.fact("thinking", thinkingOf(st))
	}
	if life := cacheLifeOf(st); life != "" {
		s.fact("cache life", life)
	}
	s.fact("last pass", lastOf(st, s))
	if st.SizeTokens > 0 {
		s.fact("decided on", sizeOf(st))
	}
	s.fact("busts", bustsOf(st))
	if st.LastPrice != nil {
		s.fact("last price", priceOf(st.LastPrice))
	}
}

// summary draws the details in a few lines.
func (s *screen) summary(st schema.SessionStatus) {
	s.title(st)
	s.fact("made of", madeOf(st.Tokens))
	s.fact("cache", cacheOf(st))
	s.fact("busts", bustsOf(st))
}

func (s *screen) title(st schema.SessionStatus) {
	s.line("")
	name := " " + cmp.Or(tail(format.Clean(st.Directory), s.width/2), "-")
	rest := fmt.Sprintf("  %s · %s", format.Clean(string(st.Harness)+"/"+st.Session), st.Mode)
	s.line(s.Paint(Strong, name) + cut(rest, s.width-columns(name)))
}

func (s *screen) fact(label, text string) {
	s.line(" " + s.Paint(Faint, left(label, labelColumns-1)) + cut(text, s.width-labelColumns))
}

func countsOf(st schema.SessionStatus) string {
	text := fmt.Sprintf("%d of %s", st.Dropped, format.Count(st.Units, "unit"))
	if st.Queued > 0 {
		text += fmt.Sprintf(", %d more with the next bust", st.Queued)
	}
	return text
}

// windowOf returns the limit of a prompt and the source of that limit.
func windowOf(st schema.SessionStatus, now time.Time) string {
	size := format.Tokens(st.ContextTokens)
	when := ""
	if st.LimitAt > 0 {
		when = " " + format.AgeOf(st.LimitAt, now) + " ago"
	}
	switch {
	case st.ContextTokens == 0 && st.LimitSource == schema.LimitDefault:
		return "unknown to the harness's catalogue"
	case st.ContextTokens == 0:
		return "unknown"
	case st.LimitSource == schema.LimitOverflow:
		return size + ", learned from a refused prompt" + when
	case st.LimitSource == schema.LimitUsage:
		return "at least " + size + ", as a prompt of that size was accepted" + when
	case st.LimitSource == schema.LimitCatalogue:
		return size + ", by the harness's catalogue"
	case st.LimitSource == schema.LimitConfig:
		return size + ", as configured"
	}
	return size
}

// shortWindowOf is windowOf for a column. It names the source only if that contradicts the catalogue.
func shortWindowOf(st schema.SessionStatus) string {
	if st.ContextTokens == 0 {
		return "?"
	}
	size := format.Tokens(st.ContextTokens)
	if st.LimitSource == schema.LimitOverflow || st.LimitSource == schema.LimitUsage {
		size += " (" + string(st.LimitSource) + ")"
	}
	return size
}

func cacheOf(st schema.SessionStatus) string {
	if st.CacheRead+st.CacheWrite+st.CacheFresh == 0 {
		return "nothing reported yet"
	}
	return fmt.Sprintf("%s hits: %s read, %s written, %s fresh", hitOf(st),
		format.Tokens(st.CacheRead), format.Tokens(st.CacheWrite), format.Tokens(st.CacheFresh))
}

// thinkingOf returns the thinking that busts have cost.
func thinkingOf(st schema.SessionStatus) string {
	if st.LostThinkingBlocks == 0 {
		return "bound to the prompt; all of it still valid"
	}
	return fmt.Sprintf("bound to the prompt; busts have cost %s, about %s", format.Count(st.LostThinkingBlocks, "block"), format.Tokens(st.LostThinkingTokens))
}

// cacheLifeOf returns how long the host expects an unused prefix to stay cached, with the reason. It is
// "" for a session without a model, and for an older host that does not report it.
func cacheLifeOf(st schema.SessionStatus) string {
	if st.CacheLifeReason == "" {
		return ""
	}
	return format.Span(time.Duration(st.CacheLifeMS)*time.Millisecond) + " (" + format.Clean(st.CacheLifeReason) + ")"
}

func lastOf(st schema.SessionStatus, s *screen) string {
	if st.Passes == 0 {
		return "none yet"
	}
	text := fmt.Sprintf("%s ago, %s", format.AgeOf(st.LastPassAt, s.now), st.LastVerdict)
	if st.LastCause != "" {
		text += " (" + format.Clean(st.LastCause) + ")"
	}
	if st.LastPassMS > 0 {
		text += fmt.Sprintf(", took %.1f ms", st.LastPassMS)
	}
	return text + fmt.Sprintf(", %s", format.Count(st.Messages, "message"))
}

// sizeOf returns the prompt size that the last pass expected, and the goal of that pass.
func sizeOf(st schema.SessionStatus) string {
	text := "a prompt of " + format.Tokens(st.SizeTokens)
	if st.GoalTokens > 0 {
		text += ", wanted " + format.Tokens(st.GoalTokens)
	}
	return text
}

// priceOf returns the newest price that a pass has weighed.
func priceOf(p *schema.PricedPass) string {
	text := Price(p.Price)
	if !p.Bust {
		return "waits: " + text
	}
	return text
}

func bustsOf(st schema.SessionStatus) string {
	if st.Busts == 0 {
		return fmt.Sprintf("none in %s", format.Count(st.Passes, "pass"))
	}
	text := fmt.Sprintf("%d in %s", st.Busts, format.Count(st.Passes, "pass"))
	if causes := causesOf(st); causes != "" {
		text += ": " + causes
	}
	return text
}

func causesOf(st schema.SessionStatus) string {
	var causes []string
	for _, c := range st.BustCauses {
		causes = append(causes, fmt.Sprintf("%s %d", format.Clean(c.Cause), c.Count))
	}
	return strings.Join(causes, ", ")
}

// madeOf lists the sources in one line and leaves out the empty ones.
func madeOf(t schema.TokensBySource) string {
	var parts []string
	for _, part := range sources(t) {
		if part.tokens > 0 {
			parts = append(parts, part.name+" "+format.Tokens(part.tokens))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing yet")
	}
	if t.Dropped > 0 {
		parts = append(parts, "dropped "+format.Tokens(t.Dropped))
	}
	return strings.Join(parts, ", ")
}
