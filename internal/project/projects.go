package project

import (
	"context"
	"sync"
)

// Projects knows the identities of directories. It is safe for concurrent use.
type Projects struct {
	Options
	mu    sync.Mutex
	known map[string]string // by directory
}

// Options configure Projects.
type Options struct {
	// Identify finds the identity of a directory, as the function Identify does. If it is nil, each directory is a
	// project of its own, and nothing is looked up.
	Identify func(ctx context.Context, directory string) (string, error)
	// Found is called with each new identity, before Known returns it. If it fails, the identity stays unknown.
	Found func(ctx context.Context, directory, identity string) error
}

// New returns Projects that knows no directory.
func New(o Options) *Projects { return &Projects{Options: o, known: make(map[string]string)} }

// Known returns the identity of a directory, or "" if it is not known yet. It never waits, so a pass may call it.
func (p *Projects) Known(directory string) string {
	if p.Identify == nil {
		return OfDirectory(directory)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[directory]
}

// Find looks for the identity of a directory. It may take seconds, so no pass may call it. It looks up a
// repository only once. It looks up any other directory on each call, because that directory may become
// a repository.
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
