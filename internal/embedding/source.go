package embedding

import (
	"context"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

const queryTimeout = 3 * time.Second

// A nil Source has no service.
type Source struct {
	Env func(string) string
	// Failed gets each error of Query, and may be nil.
	Failed func(error)

	mu      sync.Mutex
	cfg     schema.Embedding
	service *Service
}

// Service returns the configured service, or nil. It returns the same service until the configuration changes.
func (s *Source) Service() (*Service, error) {
	if s == nil {
		return nil, nil
	}
	cfg := config.Embedding(s.Env)
	if cfg.Provider == schema.EmbeddingOff {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service != nil && s.cfg == cfg {
		return s.service, nil
	}
	service, err := New(cfg, nil)
	if err != nil {
		return nil, err
	}
	s.cfg, s.service = cfg, service
	return service, nil
}

// Query returns the vector of a text, which the configured service computes. It returns nil if there is no service, if
// the service's vectors belong to another space, or if the service fails.
func (s *Source) Query(ctx context.Context, space, text string) []float32 {
	service, err := s.Service()
	if service == nil && err == nil || service != nil && service.Space() != space {
		return nil
	}
	var vectors [][]float32
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		if vectors, err = service.Embed(ctx, []string{text}); err == nil {
			return vectors[0]
		}
	}
	if s.Failed != nil {
		s.Failed(err)
	}
	return nil
}
