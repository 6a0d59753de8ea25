package config

import "github.com/magicctx/magicctx-host/schema"

// Embedding returns the embedding that the user has configured for this machine: the first of the harnesses' files that
// has one, because all harnesses share one index.
func Embedding(env func(string) string) schema.Embedding {
	for _, harness := range []schema.Harness{schema.HarnessOpenCode, schema.HarnessPi} {
		if cfg, _ := Load(Options{Harness: harness, Env: env}); cfg.Embedding.Provider != schema.EmbeddingOff {
			return cfg.Embedding
		}
	}
	return Default().Embedding
}
