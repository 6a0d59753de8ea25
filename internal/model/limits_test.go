package model

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// Defect A41: a half-written catalogue may name an implausibly small input limit. The host must ignore this limit, and
// take the window as the limit of the prompt. It must use any plausible input limit, even one far below the window.
func TestBugA41LimitsAreSane(t *testing.T) {
	for _, c := range []struct {
		limits schema.ModelLimits
		want   int
	}{
		{schema.ModelLimits{ContextTokens: 922_000, InputTokens: 400_000}, 400_000},
		{schema.ModelLimits{ContextTokens: 400_000, InputTokens: 6_748}, 400_000},
		{schema.ModelLimits{ContextTokens: 8_192}, 8_192},
		{schema.ModelLimits{ContextTokens: 4_096, InputTokens: 2_048}, 2_048},
		{schema.ModelLimits{ContextTokens: 1_000}, 1_000},
		{schema.ModelLimits{ContextTokens: 999}, 0}, // perhaps the catalogue counts in thousands
		{schema.ModelLimits{ContextTokens: 128, InputTokens: 1}, 0},
		{schema.ModelLimits{ContextTokens: -1, InputTokens: -200_000}, 0},
		{schema.ModelLimits{ContextTokens: 0, InputTokens: 8_192}, 8_192},
		{schema.ModelLimits{ContextTokens: 10_000_000}, 10_000_000},
		{schema.ModelLimits{ContextTokens: 10_000_001}, 0},
		{schema.ModelLimits{}, 0},
	} {
		if got := PromptLimit(c.limits); got != c.want {
			t.Errorf("%+v: %d, want %d", c.limits, got, c.want)
		}
	}
}
