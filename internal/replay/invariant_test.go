package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func text(s string) render.Block { return render.Block{Kind: render.TextBlock, Text: s} }
func thought(s, signature string) render.Block {
	return render.Block{Kind: render.ReasoningBlock, Text: s, Signature: json.Value(signature)}
}

func sent(key string, role transcript.Role, raw []render.Block, wire ...render.Block) render.Rendered {
	return render.Rendered{
		Raw:  render.WireMessage{Key: key, Role: role, Blocks: raw},
		Wire: render.WireMessage{Key: key, Role: role, Blocks: wire},
	}
}

func said(key, s string) render.Rendered {
	return sent(key, transcript.User, []render.Block{text(s)}, text(s))
}

// The cases show mistakes that a host could make. After each mistake comes the most similar behaviour that is correct.
func TestBrokenInvariantsAreNamed(t *testing.T) {
	type all = []render.Rendered
	raw := []render.Block{text("x")}
	signed := []render.Block{thought("hm", `{"a":1}`)}
	call, result := render.Block{Kind: render.CallBlock, ID: "1"}, render.Block{Kind: render.ResultBlock, ID: "1"}
	for _, c := range []struct {
		name          string
		verdict       schema.Verdict
		rewritten     bool
		before, after all
		want          []string
	}{
		{"the tail grows", schema.Steady, false, all{said("u", "x")}, all{said("u", "x"), said("v", "y")}, nil},
		{"a steady pass changes what was sent", schema.Steady, false, all{said("u", "x")}, all{said("u", "y")}, []string{steadyIsAppendOnly}},
		{"a steady pass loses what was sent", schema.Steady, false, all{said("u", "x"), said("v", "y")}, all{said("u", "x")}, []string{steadyIsAppendOnly}},
		{"a steady pass puts something in front", schema.Steady, false, all{said("u", "x")}, all{said("h", "head"), said("u", "x")}, []string{steadyIsAppendOnly}},
		{"the harness changed it", schema.Steady, true, all{said("u", "x")}, all{said("u", "y")}, nil},
		{"a soft pass may", schema.Soft, false, all{said("u", "x")}, all{said("u", "y")}, nil},
		{"invisible messages do not count", schema.Steady, false, all{sent("a", transcript.Assistant, nil), said("u", "x")}, all{said("u", "x")}, nil},
		{"a drop on a steady pass", schema.Steady, false, nil, all{sent("u", transcript.User, raw, text("[dropped §1§]"))}, []string{oneEffectPerBust}},
		{"a drop on a soft pass", schema.Soft, false, nil, all{sent("u", transcript.User, raw, text("[dropped §1§]"))}, nil},
		{"the user wrote it", schema.Steady, false, nil, all{said("u", "[dropped by me]")}, nil},
		{"another placeholder", schema.Soft, false, nil, all{sent("u", transcript.User, raw, text("[dropped §1§: 4 kB]"))}, []string{onePlaceholder}},
		{"a call without result", schema.Soft, false, nil, all{sent("a", transcript.Assistant, raw, call)}, []string{arcsAreAtomic}},
		{"a result without call", schema.Soft, false, nil, all{sent("a", transcript.Assistant, raw, result)}, []string{arcsAreAtomic}},
		{"an arc", schema.Soft, false, nil, all{sent("a", transcript.Assistant, raw, call, result)}, nil},
		{"a signed thought is changed", schema.Soft, false, nil, all{sent("a", transcript.Assistant, signed, thought("[cleared]", `{"a":1}`))}, []string{signedIsUntouched}},
		{"its signature is", schema.Soft, false, nil, all{sent("a", transcript.Assistant, signed, thought("hm", `{"a":2}`))}, []string{signedIsUntouched}},
		{"it is left out", schema.Soft, false, nil, all{sent("a", transcript.Assistant, signed)}, nil},
		{"a user message is gone", schema.Hard, false, nil, all{sent("u", transcript.User, raw)}, []string{userTurnsStay}},
		{"an assistant message is gone", schema.Hard, false, nil, all{sent("a", transcript.Assistant, raw)}, nil},
		{
			"several", schema.Steady, false,
			all{said("u", "x")},
			all{sent("u", transcript.User, raw), sent("a", transcript.Assistant, raw, call, text("[dropped  §1§]"))},
			[]string{steadyIsAppendOnly, oneEffectPerBust, arcsAreAtomic, onePlaceholder, userTurnsStay},
		},
	} {
		got := broken(observation{c.verdict, !c.rewritten, c.before, c.after, map[string]bool{}})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A placeholder that an earlier pass has already shown does not count as a new drop.
func TestADropStaysOnSteadyPasses(t *testing.T) {
	dropped := map[string]bool{}
	wire := []render.Rendered{sent("u", transcript.User, []render.Block{text("x")}, text("[dropped §1§]"))}
	for n, verdict := range []schema.Verdict{schema.Soft, schema.Steady} {
		if got := broken(observation{verdict, true, wire, wire, dropped}); got != nil {
			t.Errorf("pass %d: %v", n+1, got)
		}
	}
}

func TestSummaryIsCleanOnlyWithoutFindings(t *testing.T) {
	pass := func(n int, bust bool, cause string) *Pass {
		return &Pass{
			Pass: n, Verdict: schema.Soft, Bust: bust, BustCause: cause, Messages: n, HostMS: float64(n), Bill: 1, RawBill: 2,
			Tokens: promptcache.Tokens{Fresh: 1, Write: 2, Read: 3}, Raw: promptcache.Tokens{Fresh: 10, Write: 20, Read: 30},
		}
	}
	fine := Report{Passes: []*Pass{pass(1, false, ""), pass(2, true, "pressure"), pass(3, false, "")}}
	s := fine.Summary()
	if !s.IsClean() || s.Passes != 3 || s.Messages != 3 || s.Bill != 3 || s.RawBill != 6 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]Bust{{Pass: 2, Verdict: schema.Soft, Cause: "pressure", Outcome: Outcome{PaidOffAt: 2}}}, s.Busts); diff != "" {
		t.Errorf("busts (-want +got):\n%s", diff)
	}
	if s.Tokens != (Tokens{3, 6, 9}) || s.RawTokens != (Tokens{30, 60, 90}) || s.HostMS != (Times{2, 3, 3}) {
		t.Errorf("%+v %+v %+v", s.Tokens, s.RawTokens, s.HostMS)
	}
	for _, c := range []struct {
		name   string
		report Report
	}{
		{"an unexplained bust", Report{Passes: []*Pass{pass(1, true, "unexplained")}}},
		{"a broken invariant", Report{InvariantViolations: []Finding{{4, onePlaceholder, ""}}}},
		{"a validator hit", Report{ValidatorHits: []Finding{{4, render.RulePair, "a7"}}}},
	} {
		s := c.report.Summary()
		if s.IsClean() {
			t.Errorf("%s is clean", c.name)
		}
	}
}
