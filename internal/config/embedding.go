package config

import "github.com/magicctx/magicctx-host/schema"

// Embedding returns the user's settings for the embedding service. All harnesses share one index, so the first
// harness that has an embedding service decides for all.
func Embedding(env func(string) string) schema.Embedding {
	for _, harness := range []schema.Harness{schema.HarnessOpenCode, schema.HarnessPi} {
		if cfg, _ := Load(Options{Harness: harness, Env: env}); cfg.Embedding.Provider != schema.EmbeddingOff {
			return cfg.Embedding
		}
	}
	return Default().Embedding
}
