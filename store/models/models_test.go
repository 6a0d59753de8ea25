package models_test

import (
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/storetest"
)

func TestCacheLifeIsKeptPerProviderAndModel(t *testing.T) {
	dir := t.TempDir()
	s := storetest.Open(t, dir)
	ctx := t.Context()
	r := models.CacheLifeRow{Provider: "anthropic", Model: "claude", Misses: 2, LeastMS: 120_000, MostMS: 180_000}
	storetest.Must(t, s.Models.SaveCacheLife(ctx, r))
	r = models.CacheLifeRow{Provider: "anthropic", Model: "claude", LifeMS: 180_000, Missed: true, At: storetest.Now}
	storetest.Must(t, s.Models.SaveCacheLife(ctx, r))
	for range 2 {
		for _, want := range []models.CacheLifeRow{r, {Provider: "bedrock", Model: "claude"}, {Provider: "anthropic", Model: "claude-1m"}} {
			got, err := s.Models.CacheLife(ctx, want.Provider, want.Model)
			storetest.Must(t, err)
			storetest.Same(t, "cache life", got, want)
		}
		storetest.Must(t, s.Close())
		s = storetest.Open(t, dir)
	}
}

func TestWindowIsKeptPerProviderAndModel(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	ctx := t.Context()
	w := models.WindowRow{Provider: "anthropic", Model: "claude", OverflowTokens: 200_000, OverflowAt: storetest.Now}
	storetest.Must(t, s.Models.SaveWindow(ctx, w))
	w.AcceptedTokens, w.AcceptedAt = 190_000, storetest.Now+1
	storetest.Must(t, s.Models.SaveWindow(ctx, w))
	for _, want := range []models.WindowRow{w, {Provider: "bedrock", Model: "claude"}, {Provider: "anthropic", Model: "claude-1m"}} {
		got, err := s.Models.Window(ctx, want.Provider, want.Model)
		storetest.Must(t, err)
		storetest.Same(t, "window", got, want)
	}
}

func TestTokenRatioIsOfItsModel(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	if _, found, err := s.Models.TokenRatio(t.Context(), "p", "m"); found || err != nil {
		t.Errorf("a ratio was learned from nothing: %v", err)
	}
	for _, r := range []models.TokenRatioRow{{"p", "m", 1.25, 1, storetest.Now}, {"p", "m", 1.2, 2, storetest.Now + 1}} {
		storetest.Must(t, s.Models.SaveTokenRatio(t.Context(), r))
		got, found, err := s.Models.TokenRatio(t.Context(), "p", "m")
		storetest.Must(t, err)
		if !found || got != r {
			t.Errorf("the ratio is %+v, want %+v", got, r)
		}
	}
	storetest.Must(t, s.Models.Forget(t.Context(), storetest.Now))
	if _, found, _ := s.Models.TokenRatio(t.Context(), "p", "m"); !found {
		t.Error("it was forgotten early")
	}
	storetest.Must(t, s.Models.Forget(t.Context(), storetest.Now+2))
	if _, found, _ := s.Models.TokenRatio(t.Context(), "p", "m"); found {
		t.Error("it was never forgotten")
	}
	for _, ratio := range []float64{0, -1} {
		if err := s.Models.SaveTokenRatio(t.Context(), models.TokenRatioRow{"p", "m", ratio, 1, storetest.Now}); err == nil {
			t.Errorf("the ratio %v was stored", ratio)
		}
	}
}

func TestB10UnusedModelsExpire(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	ctx := t.Context()
	storetest.Used(t, s, "a", "", time.UnixMilli(storetest.Now), 1, 7)
	storetest.Must(t, s.Models.SaveLimits(ctx, models.LimitsRow{Provider: "p", Model: "unused", At: storetest.Now}))
	storetest.Must(t, s.Models.Forget(ctx, storetest.Now+1000))
	_, hasUnused, err := s.Models.Limits(ctx, "p", "unused")
	storetest.Must(t, err)
	_, hasUsed, err := s.Models.Limits(ctx, "p", "m-a")
	storetest.Must(t, err)
	if hasUnused || !hasUsed {
		t.Errorf("the unused model is there: %v, the one of a session: %v", hasUnused, hasUsed)
	}
}
