package store

import "testing"

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
