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
	// If Identify is nil, each directory is a separate project, and nothing is looked up.
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

// Find looks up a directory's identity, and Known then returns it. Find may take seconds, so no pass may
// call it. A repository is looked up only once. Any other directory may become a repository, so it is looked
// up each time.
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
