package config

import "github.com/magicctx/magicctx-host/schema"

// Embedding returns the user's settings for the embedding service. All harnesses share one index, so the settings of the
// first harness that has switched the service on count for all: OpenCode comes before Pi.
func Embedding(env func(string) string) schema.Embedding {
	for _, harness := range []schema.Harness{schema.HarnessOpenCode, schema.HarnessPi} {
		if cfg, _ := Load(Options{Harness: harness, Env: env}); cfg.Embedding.Provider != schema.EmbeddingOff {
			return cfg.Embedding
		}
	}
	return Default().Embedding
}
