package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
)

// A TokenRatio is the number of tokens that a provider counts for one token of the host's count, for example 1.4. 0
// means unknown.
type TokenRatio float64

func (r TokenRatio) value() float64 {
	if !(r > 0) {
		return 1
	}
	return min(max(leastRatio, float64(r)), mostRatio)
}

// OwnTokens converts n tokens of the provider to tokens of the host's count.
func (r TokenRatio) OwnTokens(n int) int { return int(float64(n) / r.value()) }

// Counting holds the token ratios with which a pass estimates a prompt that the provider has not measured.
type Counting struct {
	// `Model` is the ratio of the model that the pass is for. `Measured` is the ratio of the model with the newest usage
	// in the array (Session.MeasuredBy). They differ if the user has changed the model since then.
	Model, Measured TokenRatio
}

func (c Counting) tokens(own int) int { return int(c.Model.value() * float64(own)) }

// translate converts the size of a prompt from the tokens of the measured model to the tokens of the current model. It
// scales the whole prompt, including tools and system prompt, because a provider counts all of it with one tokenizer.
func (c Counting) translate(prompt int) int {
	return int(float64(prompt) * min(max(leastRatio, c.Model.value()/c.Measured.value()), mostRatio))
}

// MeasuredBy returns the model that wrote the newest answer with a usage.
func (s *array) MeasuredBy() schema.Model {
	if i := s.newestMeasured(); i >= 0 {
		return s.entries[i].header.wrote
	}
	return schema.Model{}
}

func (s *array) newestMeasured() int {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].isMeasured() {
			return i
		}
	}
	return -1
}

// Measured returns the key of the newest answer with a usage. It returns "" if this usage is incomplete, or if the
// harness sent something other than the host's newest wire.
func (s *memo) Measured() (messageKey string) {
	if i := s.newestMeasured(); i >= 0 && s.sentToken != "" && s.entries[i].isTrueMeasurement() {
		return s.entries[i].header.key
	}
	return ""
}

// isTrueMeasurement reports whether the usage reports the whole prompt. Every prompt has new tokens, so a usage with
// only cached tokens is incomplete. A failed answer may report only a part of its prompt.
func (e *entry) isTrueMeasurement() bool {
	u := e.header.usage
	return e.isMeasured() && !e.header.errored && u.Input+u.CacheWrite > 0
}

const (
	// leastSample is the minimum text of a sample, in tokens. A few hundred tokens of message frames or reminders,
	// which the host does not count, would distort a smaller sample.
	leastSample = 4000
	// The host only estimates the tokens of files and thinking. mostUncounted is their maximum share in a sample, relative
	// to the sample's text.
	mostUncounted = 0.2
)

// A TokenSample is the token ratio of a model, computed from two reported prompts.
type TokenSample struct {
	Model schema.Model
	// Ratio is 0 if the two prompts give no usable ratio. For example, different models wrote the two answers, or the
	// messages between them are mostly files.
	Ratio TokenRatio
}

// SampleTokens computes a token ratio from two answers, given by their keys. It compares the growth of the prompt from
// the older to the newer answer with the host's count of the messages between them. The caller must ensure that no pass
// between the two answers has busted. ok is false if there is too little text yet.
func (s *content) SampleTokens(older, newer string) (sample TokenSample, ok bool) {
	from, found := s.index[older]
	to, foundToo := s.index[newer]
	if !found || !foundToo || from > to {
		return sample, true // one of the two answers was reverted
	}
	first, last := &s.entries[from], &s.entries[to]
	sample.Model = last.header.wrote
	if first.header.wrote != sample.Model || !first.isTrueMeasurement() || !last.isTrueMeasurement() {
		return sample, true
	}
	text, other := 0, 0
	for i := from; i < to; i++ {
		t, o := s.textTokens(&s.entries[i])
		text, other = text+t, other+o
	}
	if text < leastSample {
		return sample, false
	}
	grown := last.header.usage.Prompt() - first.header.usage.Prompt() - other
	ratio := float64(grown) / float64(text)
	if float64(other) <= mostUncounted*float64(text) && ratio >= leastRatio && ratio <= mostRatio {
		sample.Ratio = TokenRatio(ratio)
	}
	return sample, true
}

// textTokens returns two sizes of a message on the wire: the host's count of its texts and calls, and an estimate of
// its files and thinking.
func (s *content) textTokens(e *entry) (text, other int) {
	other = s.thinkingOf(e, s.State)
	for _, it := range e.items {
		switch u := s.State.ByTag(it.Tag); {
		case u == nil:
		case u.Kind == frozen.FileUnit:
			other += u.Left()
		default:
			text += u.Left()
		}
	}
	return text, other
}
