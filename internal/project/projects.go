package project

import (
	"context"
	"sync"
)

// Projects is safe for concurrent use.
type Projects struct {
	Options
	mu    sync.Mutex
	known map[string]string // by directory
}

type Options struct {
	// Identify looks up the identity of a directory. If it is nil, each directory is a separate project.
	Identify func(ctx context.Context, directory string) (string, error)
	// Found is called before Known returns a new identity. If Found fails, the identity stays unknown.
	Found func(ctx context.Context, directory, identity string) error
}

func New(o Options) *Projects { return &Projects{Options: o, known: make(map[string]string)} }

// Known returns the identity of a directory, or "". It never waits, so a pass may call it.
func (p *Projects) Known(directory string) string {
	if p.Identify == nil {
		return OfDirectory(directory)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[directory]
}

// Find looks up the identity of a directory. From then on, Known returns this identity. Find may take seconds, so a
// pass must not call it. A repository is looked up only once. Any other directory is looked up in each call, because it
// may have become a repository.
func (p *Projects) Find(ctx context.Context, directory string) error {
	before := p.Known(directory)
	if p.Identify == nil || IsRepository(before) {
		return nil
	}
	identity, err := p.Identify(ctx, directory)
	if err != nil || identity == before {
		return err
	}
	if err := p.Found(ctx, directory, identity); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[directory] = identity
	return nil
}
