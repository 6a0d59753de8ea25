package pipeline

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/schema"
)

func TestSampleTokensFindsTheProvidersRatio(t *testing.T) {
	for _, perToken := range []float64{0.7, 1, 1.5, 1.9} {
		p := newProvider(t, 3000, perToken)
		p.w.readings.LimitTokens = 1_000_000
		p.turn(2, 700)
		older := p.w.session.Measured()
		if _, ok := p.w.session.SampleTokens(older, older); ok {
			t.Error("a sample of no text")
		}
		p.turn(3, 2000)
		newer := p.w.session.Measured()
		sample, ok := p.w.session.SampleTokens(older, newer)
		if !ok || sample.Model.ID != "m1" || math.Abs(float64(sample.Ratio)-perToken) > 0.03*perToken {
			t.Errorf("ratio %v of %+v from %s to %s; want %v", sample.Ratio, sample.Model, older, newer, perToken)
		}
	}
}

func TestSampleTokensRefusesUselessSamples(t *testing.T) {
	usage := func(input, read int) obj {
		return obj{"tokens": obj{"input": input, "cache": obj{"read": read, "write": 0}}}
	}
	tests := []struct {
		name       string
		first, end obj
		part       obj
	}{
		{"a report without new tokens", usage(1000, 0), usage(0, 7000), textPart("pu2", weighing(5000))},
		{"a first report without new tokens", usage(0, 1000), usage(7000, 0), textPart("pu2", weighing(5000))},
		{"only the uncached part of a prompt", usage(1000, 0), usage(1200, 0), textPart("pu2", weighing(5000))},
		{"a prompt that shrank", usage(9000, 0), usage(1200, 0), textPart("pu2", weighing(5000))},
		{"three times the count", usage(1000, 0), usage(16_000, 0), textPart("pu2", weighing(5000))},
		{"another model", usage(1000, 0), obj{"modelID": "m2", "tokens": usage(7000, 0)["tokens"]}, textPart("pu2", weighing(5000))},
		{"a failed answer", usage(1000, 0), obj{"error": obj{"name": "APIError", "data": obj{}}, "tokens": usage(7000, 0)["tokens"]}, textPart("pu2", weighing(5000))},
	}
	for _, c := range tests {
		w := newWorld(t, true, 1)
		w.add(message("u1", "user", 1, nil, textPart("pu1", "go on")))
		w.add(message("a1", "assistant", 2, c.first, textPart("pa1", "yes")))
		w.add(message("u2", "user", 3, nil, c.part))
		w.add(message("a2", "assistant", 4, c.end, textPart("pa2", "yes")))
		w.pass()
		if sample, ok := w.session.SampleTokens("a1", "a2"); !ok || sample.Ratio != 0 {
			t.Errorf("%s: ratio %v, %v", c.name, sample.Ratio, ok)
		}
	}
}

func TestSizeUsesTheLearnedRatio(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tokens := rapid.IntRange(1000, 20_000).Draw(rt, "tokens of the tail")
		measured := rapid.IntRange(100, 50_000).Draw(rt, "measured")
		isMeasured := rapid.Bool().Draw(rt, "is measured")
		c := Counting{Model: drawRatio(rt, "model"), Measured: drawRatio(rt, "measuring model")}
		w := newWorld(t, true, 1)
		usage := obj{}
		if isMeasured {
			usage = obj{"tokens": obj{"input": measured}}
		}
		w.add(message("u1", "user", 1, nil, textPart("pu1", "abc abc ")))
		w.add(message("a1", "assistant", 2, usage, textPart("pa1", "abc abc ")))
		w.add(message("u2", "user", 3, nil, textPart("pu2", weighing(tokens))))
		w.readings.Counting = c
		w.pass()
		own := float64(tokens + 2)
		want := c.Model.value() * own
		if isMeasured {
			want += float64(measured) * min(max(0.5, c.Model.value()/c.Measured.value()), 2)
		}
		if got := float64(w.decision.Size.Current); math.Abs(got-want) > 5 {
			rt.Errorf("%+v: %v tokens are believed, %v are there", c, got, want)
		}
		if isMeasured && w.decision.InputTokens != measured {
			rt.Errorf("%d tokens were reported, %d are shown", measured, w.decision.InputTokens)
		}
	})
}

func drawRatio(rt *rapid.T, label string) TokenRatio {
	return TokenRatio(rapid.SampledFrom([]float64{0, 0.5, 0.8, 1, 1.3, 1.5, 2}).Draw(rt, label))
}

func TestTokenRatioIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := TokenRatio(rapid.Float64().Draw(rt, "ratio"))
		other := TokenRatio(rapid.Float64().Draw(rt, "other"))
		n := rapid.IntRange(0, 1<<30).Draw(rt, "tokens")
		c := Counting{Model: r, Measured: other}
		for name, got := range map[string]int{"tokens": c.tokens(n), "translate": c.translate(n), "own": r.OwnTokens(n)} {
			if got < n/2 || got > 2*n {
				rt.Errorf("%s of %d with %v and %v: %d", name, n, r, other, got)
			}
		}
	})
	if r := TokenRatio(math.NaN()).value(); r != 1 {
		t.Errorf("NaN counts as %v", r)
	}
}

func TestModelSwitchFreesSpaceForTheNewVocabulary(t *testing.T) {
	for _, known := range []bool{false, true} {
		p := newProvider(t, 500, 1)
		for p.w.decision.Percent < 50 {
			p.turn(2, 200)
		}
		if known {
			p.w.readings.Counting = Counting{Model: 2, Measured: 1}
		}
		p.n++
		p.w.add(message(fmt.Sprintf("u%d", p.n), "user", p.w.now, obj{"model": obj{"providerID": "anthropic", "modelID": "m2"}}, textPart("p-switch", "go on")))
		p.w.pass()
		if p.w.decision.Cause != CauseModelChanged || known != (p.w.decision.Percent > EmergencyPercent) {
			t.Errorf("with a known ratio %v: %s at %.0f %%", known, p.w.decision.Cause, p.w.decision.Percent)
		}
		if left := p.w.session.own + 500; known && 2*left > p.w.readings.LimitTokens*65/100 {
			t.Errorf("%d of our tokens are left, which is too much for the new model", left)
		}
	}
}

func TestTokenRatioChangesNoSteadyWire(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newProvider(t, 500, 1)
		p.w.readings.LimitTokens = rapid.SampledFrom([]int{20_000, 1_000_000}).Draw(rt, "limit")
		for range rapid.IntRange(2, 12).Draw(rt, "turns") {
			r := drawRatio(rt, "ratio")
			p.w.readings.Counting = Counting{Model: r, Measured: r}
			p.n++
			p.w.add(message(fmt.Sprintf("u%d", p.n), "user", p.w.now, nil, textPart(fmt.Sprintf("pu%d", p.n), "go on")))
			p.w.pass()
			if p.w.decision.Verdict == schema.Steady && !p.w.extends() {
				rt.Fatalf("a steady pass changed the wire with ratio %v", r)
			}
			p.step(rapid.SampledFrom([]int{10, 400, 1500}).Draw(rt, "tokens"), true)
			if p.w.decision.Verdict == schema.Steady && !p.w.extends() {
				rt.Fatalf("a steady pass changed the wire with ratio %v", r)
			}
		}
	})
}
