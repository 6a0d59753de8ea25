package pipeline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// BytesPerToken is used to estimate the tokens of content that the host does not count, for example reasoning.
const BytesPerToken = 4

// A Size is the expected size of the next prompt, in tokens.
type Size struct {
	// Measured is the size of the newest prompt for which the provider reported a usage. It is Gauge.Tokens, so it can
	// differ from the reported number. Measurement is a name for this usage and size, for example "msg_1/52000". If the
	// session has no usage yet, both are empty.
	Measurement string
	Measured    int
	// Current is the estimated size of the next prompt. It is Measured, converted to the tokens of the current model,
	// plus the estimated tokens of all later messages, minus the tokens that a bust has freed since.
	Current int
}

// A Gauge relates the provider's count of a prompt to the host's count. A usage alone may mislead. Suppose that a bust
// removes content, and the user then reverts to a message before the bust. The newest usage in the array now reports a
// prompt that still had all its content. So the gauge stores the size that the host assumes for this prompt (D5 in
// docs/defects.md).
type Gauge struct {
	// Of names the usage. Tokens is the size that the host assumes for the prompt. Usually this is the reported size.
	// If the usage belongs to a different wire, Tokens is the host's estimate for the current wire.
	Of     string
	Tokens int
	// Own is the host's count of the messages in that prompt.
	Own int
	// Base is the estimated size of the prompt without its messages: system prompt and tools.
	Base int
}

// size estimates the next prompt from the transcript and the stored state only, because a restarted host must get the
// same result. Without a usage, it uses the host's own count.
func (s *Session) size(c Counting) (Size, Gauge) {
	measured, tail, own, answered := -1, 0, s.counted(), false
	compacted := s.compactedAt()
	for i := len(s.entries) - 1; i >= 0 && measured < 0; i-- {
		e := &s.entries[i]
		tail += s.tokensOf(e)
		own -= e.own
		answered = answered || e.header.role == transcript.Assistant && e.header.finish != transcript.Unfinished
		if e.isMeasured() && e.header.created >= compacted {
			measured = i
		}
	}
	if measured < 0 {
		if !answered {
			return Size{}, s.Meta.Gauge
		}
		if s.Meta.Gauge.Of == "" { // no prompt of this session was ever measured
			return Size{Current: c.tokens(tail)}, s.Meta.Gauge
		}
		if compacted > 0 && s.HasLostGauge() { // the two prompts have only system prompt and tools in common
			return Size{Current: s.Meta.Gauge.Base + c.tokens(s.counted())}, s.Meta.Gauge
		}
		return Size{Current: s.Meta.Gauge.estimate(tail)}, s.Meta.Gauge
	}
	g := s.gauge(measured, own)
	size := Size{Measurement: g.measurement(), Measured: g.Tokens}
	prompt := g.Tokens - s.freedSince(g)
	if !s.isEstimated(g) { // an estimate is already in the tokens of the current model
		prompt = c.translate(prompt)
	}
	size.Current = max(0, prompt+c.tokens(tail))
	return size, g
}

// compactedAt returns the time at which the harness compacted the session, or 0 if it never did. Callers ignore older
// usages: the compaction may have kept their answers, but the prompts that they measured no longer exist.
func (s *array) compactedAt() int64 {
	i, ok := s.index[s.SummaryKey()]
	if !ok || s.entries[i].isMarker() {
		return 0
	}
	return s.entries[i].header.created
}

// gauge returns the gauge for the usage of entry i. own is the host's count of the messages in the prompt that this
// usage measured.
func (s *memo) gauge(i, own int) Gauge {
	last := s.Meta.Gauge
	reported := s.entries[i].header.usage.Prompt()
	g := Gauge{Of: s.entries[i].measurement(), Tokens: reported, Own: own, Base: last.Base}
	switch at, stands := s.index[messageOf(last.Of)]; {
	case last.Of == g.Of:
		return last
	case last.Of == "": // this host sees a usage of the session for the first time
		grown := s.grown()
		g.Base = grown.Base
		if relief := s.Meta.Episode.Relief; relief.Of == g.Of {
			g.Own += relief.Tokens // the measurement is older than that bust
		} else if expected := grown.estimate(own); reported*4 < expected*3 {
			g.Tokens = expected // the edits of the measured prompt are lost
		}
	case (stands && at <= i || !stands && s.compactedAt() > 0) && !s.isOlderThanLastPass(i):
		// The usage answers a later request.
		g.Base = min(g.Base, reported)
		if expected := last.estimate(own); s.sentToken == "" && (isOfOther(reported, expected, last.estimate(s.raw(i))) || isOfOther(reported, expected, expected+s.shortened(last))) {
			g.Tokens = expected
		}
	default: // the answer with the last usage is gone, or this answer is older than the last pass; its prompt may have had other edits
		g.Tokens = max(1, last.estimate(own))
	}
	return g
}

// isOlderThanLastPass reports whether entry i was completed before the last pass. In Pi, the user can return to another
// branch of the session, so the newest usage in the array may be from such an old answer.
func (s *memo) isOlderThanLastPass(i int) bool {
	completed := s.entries[i].header.completed
	return completed > 0 && completed < s.Meta.At
}

// isOfOther reports whether a usage probably measured a larger prompt instead of the wire. `other` is the size of the
// larger prompt. The harness sends a larger prompt in two cases: if it cannot reach the host, it sends the raw array
// without any patches, and if a bust comes too late for its request, it sends the request with the patches from before
// the bust.
func isOfOther(reported, wire, other int) bool { return other*3 > wire*4 && 2*reported > wire+other }

// freedSince returns the tokens that busts have freed since the usage of g.
func (s *memo) freedSince(g Gauge) int {
	if relief := s.Meta.Episode.Relief; relief.Of == g.measurement() {
		return relief.Tokens
	}
	return 0
}

// shortened compares the prompt that the usage of g measured with the same part of the current wire, and returns by how
// many tokens the wire is shorter. If the answer with this usage is gone, shortened returns 0.
func (s *memo) shortened(g Gauge) int {
	i, ok := s.index[messageOf(g.Of)]
	if !ok {
		return 0
	}
	return s.entries[i].header.usage.Prompt() - g.Tokens + s.freedSince(g)
}

// RefusedAnother reports whether the prompt that the provider refused was not the current wire. If the harness cannot
// reach the host, it sends the raw array, perhaps with older patches. That prompt is larger than the wire, and at most
// as large as the raw array. `named` is the size of the refused prompt if the provider's error contains it, and
// otherwise 0. `limit` is the limit of the current model.
func (s *Session) RefusedAnother(named, limit int, c Counting) bool {
	if s.sentToken != "" {
		return false
	}
	if s.isModelNew() { // the refused prompt was for another model, so this model's limit says nothing about its size
		limit = 0
	}
	size, g := s.size(c)
	refused := max(named, limit)
	return refused*3 > size.Current*4 && g.estimate(s.raw(len(s.entries)))*4 > refused*3
}

func (s *memo) isModelNew() bool { return s.Meta.Passes > 0 && s.Model() != s.Meta.Model }

func (s *array) raw(n int) int {
	tokens := 0
	for i := range n {
		tokens += s.entries[i].whole
	}
	return tokens
}

// estimate returns the size of a prompt whose messages have `own` tokens by the host's count. g.Own may be too large,
// for example because the head was removed since. So the result is at least g.Base plus the fewest tokens that the
// provider can count for `own` (leastRatio).
func (g Gauge) estimate(own int) int {
	return max(g.Base+int(leastRatio*float64(own)), g.Tokens+int(g.perToken()*float64(own-g.Own)))
}

// isEstimated reports whether g.Tokens is the host's own estimate, and not the reported size, because the newest usage
// measured a different wire.
func (s *array) isEstimated(g Gauge) bool {
	i, ok := s.index[messageOf(g.Of)]
	return ok && s.entries[i].header.usage.Prompt() != g.Tokens
}

// measurement returns a name such as "msg_1/52000". If the host corrects the size, the name changes, too. So the tokens
// that a bust freed are subtracted only from the size on which that bust was based.
func (g Gauge) measurement() string { return measurementOf(messageOf(g.Of), g.Tokens) }

func measurementOf(key string, tokens int) string { return key + "/" + strconv.Itoa(tokens) }

// perToken returns the number of provider tokens per token of the host's count.
func (g Gauge) perToken() float64 { return ratio(g.Tokens-g.Base, g.Own) }

// refused corrects size and g after the provider has refused the prompt as too long. `limit` is the model's limit, and
// `named` is the size of the prompt in the provider's error. If one of them is unknown, it is 0. The prompt was at
// least as large as both. The result is the number of provider tokens per token of the host's count.
func (s *content) refused(size *Size, g *Gauge, limit, named int, c Counting) (perToken float64) {
	if real := max(limit, named) + c.tokens(s.afterFailure()); real > size.Current {
		size.Current = real
		if i, ok := s.index[messageOf(g.Of)]; ok && size.Measured > 0 {
			tail := 0
			for j := i; j < len(s.entries); j++ {
				tail += s.entries[j].own
			}
			// Without this correction, the next pass would use the old count again.
			g.Tokens, g.Own = max(1, real-c.tokens(tail)), s.counted()-tail
			size.Measurement, size.Measured = g.measurement(), g.Tokens
		}
	}
	return ratio(size.Current-g.Base-s.thinkingSent(len(s.entries)), s.counted())
}

// afterFailure returns the tokens of the messages after the newest failed answer, or 0 if a later answer succeeded.
func (s *array) afterFailure() int {
	tokens := 0
	for i := len(s.entries) - 1; i >= 0; i-- {
		if e := &s.entries[i]; e.header.role != transcript.Assistant {
			tokens += e.own
		} else if e.header.errored {
			return tokens
		} else {
			break
		}
	}
	return 0
}

// measuredUpTo returns how many messages the prompt of the newest usage contained. For later messages, only the host's
// own count exists.
func (s *array) measuredUpTo(size Size) int {
	if i, ok := s.index[messageOf(size.Measurement)]; ok && size.Measured > 0 {
		return i
	}
	return len(s.entries)
}

// HasLostGauge reports whether the answer with the gauge's usage is no longer in the array.
func (s *memo) HasLostGauge() bool {
	last := messageOf(s.Meta.Gauge.Of)
	return last != "" && !s.Has(last)
}

// The counts of two tokenizers differ at most by a factor of two. If two counts differ by more, they are not counts of
// the same content.
const leastRatio, mostRatio = 0.5, 2

func ratio(theirs, own int) float64 {
	if own <= 0 || theirs <= 0 {
		return 1
	}
	return min(max(leastRatio, float64(theirs)/float64(own)), mostRatio)
}

// grown makes a gauge for a session that is new to the host. It reads the usages in order, beginning with the oldest,
// and stops at the first prompt whose growth does not match the growth of the array. From there on, the usages cannot
// be compared with the array: output had been dropped from the prompt, or the harness has since pruned output from the
// array.
func (s *content) grown() Gauge {
	var first, last Gauge
	raw, thought, compacted := 0, 0, s.compactedAt() // thought counts the thinking after the answer of the usage in last
	for i := range s.entries {
		e := &s.entries[i]
		if e.isMeasured() && e.header.created >= compacted {
			n := e.header.usage.Prompt()
			own := raw - last.Own
			if n < last.Tokens || float64(n-last.Tokens) < leastRatio*float64(own-leastCount) ||
				last.Tokens > 0 && float64(n-last.Tokens-thought) > mostRatio*float64(own+leastCount) {
				break
			}
			thought = 0
			last = Gauge{Tokens: n, Own: raw}
			if first.Tokens == 0 {
				first = last
			}
		}
		thought += e.traits.thought / BytesPerToken
		for _, it := range e.items {
			if u := s.State.ByTag(it.Tag); u != nil {
				raw += u.Tokens + u.InputTokens
			}
		}
	}
	last.Base = max(0, first.Tokens-first.Own)
	if last.Own < leastCount {
		last.Tokens = last.Base + last.Own
	}
	return last
}

// The ratio of two small counts, for example 3 and 5 tokens, may be pure chance. So the host does not trust a ratio of
// counts below leastCount tokens.
const leastCount = 100

func (e *entry) isMeasured() bool {
	return e.header.role == transcript.Assistant && e.header.usage.Prompt() > 0
}

func (e *entry) measurement() string {
	return measurementOf(e.header.key, e.header.usage.Prompt())
}

func messageOf(measurement string) string {
	return measurement[:max(0, strings.LastIndexByte(measurement, '/'))]
}

func (s *content) weigh(i int) {
	e := &s.entries[i]
	n := s.tokensOf(e)
	s.own += n - e.own
	parts := e.partsIn(s.State)
	s.parts.Replace(e.parts, parts)
	e.own, e.whole, e.parts = n, 0, parts
	s.thinking = s.thinking[:min(i, len(s.thinking))]
	for _, it := range e.items {
		if u := s.State.ByTag(it.Tag); u != nil {
			e.whole += u.Tokens + u.InputTokens
		}
	}
}

// partsIn returns the sizes of those units of the message that the head does not cover.
func (e *entry) partsIn(in units) (parts frozen.Parts) {
	for _, it := range e.items {
		if u := in.ByTag(it.Tag); u != nil && !u.Covered {
			parts.Add(u)
		}
	}
	return parts
}

// Parts returns the total size of each kind of unit after the head. It leaves out reverted messages, and includes the
// effect of the additions `a`, which are not committed yet.
func (s *memo) Parts(a frozen.Additions) frozen.Parts {
	if len(a.Edits) == 0 && len(a.Restored) == 0 && a.Head == nil {
		return s.parts
	}
	var parts frozen.Parts
	shown := s.State.With(a)
	for i := range s.entries {
		parts.Replace(frozen.Parts{}, s.entries[i].partsIn(shown))
	}
	return parts
}

// counted returns the host's count of the wire's messages: the head and the tail.
func (s *content) counted() int { return s.State.HeadTokens() + s.own }

func (s *content) weighAll() {
	for i := range s.entries {
		s.weigh(i)
	}
}

// edited returns the indexes of all messages that contain a unit which the additions `a` edit or restore. An index may
// occur more than once.
func (s *content) edited(a frozen.Additions) (indexes []int) {
	add := func(tag int) {
		if u := s.State.ByTag(tag); u != nil {
			if i, ok := s.index[u.MessageKey]; ok {
				indexes = append(indexes, i)
			}
		}
	}
	for _, e := range a.Edits {
		add(e.Tag)
	}
	for _, tag := range a.Restored {
		add(tag)
	}
	return indexes
}

func (s *content) tokensOf(e *entry) int {
	n := 0
	for _, it := range e.items {
		if u := s.State.ByTag(it.Tag); u != nil {
			n += u.Left()
		}
	}
	return n
}

const growthSteps = 20

// Growth returns how many tokens a step usually adds to the prompt: the median of the newest growthSteps steps with a
// usage. It returns at least 1.
func (s *array) Growth() int {
	var deltas []int
	later := 0
	for _, e := range slices.Backward(s.entries) {
		n := e.header.usage.Prompt()
		if e.header.role != transcript.Assistant || n == 0 {
			continue
		}
		if later > n {
			deltas = append(deltas, later-n)
		}
		if later = n; len(deltas) == growthSteps {
			break
		}
	}
	if len(deltas) == 0 {
		return 1
	}
	slices.Sort(deltas)
	return max(1, deltas[len(deltas)/2])
}
