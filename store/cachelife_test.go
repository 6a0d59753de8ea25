package store

import (
	"testing"

	"github.com/magicctx/magicctx-host/store/file"
)

func TestCacheLifeIsKeptPerProviderAndModel(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	ctx := t.Context()
	r := CacheLifeRow{Provider: "anthropic", Model: "claude", Misses: 2, LeastMS: 120_000, MostMS: 180_000}
	must(t, s.Models.SaveCacheLife(ctx, r))
	r = CacheLifeRow{Provider: "anthropic", Model: "claude", LifeMS: 180_000, Missed: true, At: now}
	must(t, s.Models.SaveCacheLife(ctx, r))
	for range 2 {
		for _, want := range []CacheLifeRow{r, {Provider: "bedrock", Model: "claude"}, {Provider: "anthropic", Model: "claude-1m"}} {
			got, err := s.Models.CacheLife(ctx, want.Provider, want.Model)
			must(t, err)
			same(t, "cache life", got, want)
		}
		must(t, s.Close())
		s = openIn(t, dir)
	}
}

// A database from before the release that learned cache lives gets their table
// and keeps its content.
func TestMigrationAddsCacheLives(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	var older []file.Migration
	for _, m := range file.Released() {
		if m.Version < 9 {
			older = append(older, m)
		}
	}
	s := openVersion(t, dir, older)
	w := WindowRow{Provider: "anthropic", Model: "claude", OverflowTokens: 200_000, OverflowAt: now}
	must(t, s.Models.SaveWindow(ctx, w))
	must(t, s.Close())

	s = openIn(t, dir)
	got, err := s.Models.Window(ctx, "anthropic", "claude")
	must(t, err)
	same(t, "window", got, w)
	life, err := s.Models.CacheLife(ctx, "anthropic", "claude")
	must(t, err)
	same(t, "cache life", life, CacheLifeRow{Provider: "anthropic", Model: "claude"})
	must(t, s.Models.SaveCacheLife(ctx, CacheLifeRow{Provider: "anthropic", Model: "claude", LifeMS: 1}))
}
