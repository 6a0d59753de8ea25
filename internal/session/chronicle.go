package session

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
)

// A Chronicle holds the facts about a session's history that its passes use. It is read with the session, and
// again after each publication.
type Chronicle struct {
	Compartments []chronicle.Compartment
	// Withdrawn holds the compartments whose messages were reverted. They come back if the messages do.
	Withdrawn []chronicle.Compartment
	End       store.HistoryEnd
	Memories  memories.OfProject // includes expired memories, because the time of the fold decides which have expired
	// UserMemories are the memories about the user. They are shown only with the user's consent.
	UserMemories  []chronicle.Memory
	MemoryChanges []chronicle.MemoryChange
	// memoryVersion is the result of the store's Memories.Version when the memories were read.
	memoryVersion int64
	// HeadGeneration is the HistoryEnd.Generation from which the head was rendered. If it differs from End.Generation,
	// stored compartments were replaced or removed since, and the head must be folded again.
	HeadGeneration int
	// PendingMarker is the compaction marker that the host still has to write into the harness's database.
	// AppliedMarker is the marker that it has written. Both are in the form in which the host stores them.
	PendingMarker, AppliedMarker string
}

// ReadChronicle reads the chronicle of a session from the store. If the identity of the project is unknown, the only
// memories in it are those about the user.
func (ss *Sessions) ReadChronicle(ctx context.Context, s *Session) (Chronicle, error) {
	key, project := s.Key, s.Row.Project
	compartments, end, err := ss.Store.History.Compartments(ctx, key)
	if err != nil {
		return Chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	withdrawn, err := ss.Store.History.Withdrawn(ctx, key)
	if err != nil {
		return Chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	sum, err := ss.Store.History.Summary(ctx, key)
	if err != nil {
		return Chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	c := Chronicle{PendingMarker: sum.PendingMarker, AppliedMarker: sum.AppliedMarker, Compartments: compartments, Withdrawn: withdrawn, End: end, HeadGeneration: end.Generation}
	return c, ss.readMemories(ctx, project, &c)
}

// readMemories reads the version first. If a memory changes during the reads, the next RefreshMemories finds
// a newer version, and reads the memories again.
func (ss *Sessions) readMemories(ctx context.Context, project string, c *Chronicle) (err error) {
	if c.memoryVersion, err = ss.Store.Memories.Version(ctx); err != nil {
		return err
	}
	if c.MemoryChanges, err = ss.Store.Memories.Changes(ctx, project, 0); err != nil {
		return err
	}
	if c.Memories, err = ss.Store.Memories.Of(ctx, project, 0); err != nil {
		return err
	}
	c.UserMemories, err = ss.Store.Memories.OfUser(ctx)
	return err
}

// Another session, or the user on the command line, may have stored a memory. So RefreshMemories reads the
// memories again if any has changed.
func (ss *Sessions) RefreshMemories(ctx context.Context, s *Session) error {
	if version, err := ss.Store.Memories.Version(ctx); err != nil || version == s.Chronicle.memoryVersion {
		return err
	}
	return ss.readMemories(ctx, s.Row.Project, &s.Chronicle)
}

func (c *Chronicle) Published() *pipeline.History {
	return &pipeline.History{Compartments: c.Compartments, Withdrawn: c.Withdrawn}
}

func (c *Chronicle) CoveredEnd() chronicle.Place {
	if n := len(c.Compartments); n > 0 {
		return chronicle.Place{Ordinal: c.Compartments[n-1].End, Key: c.Compartments[n-1].EndKey()}
	}
	return chronicle.Place{}
}

// RefreshChronicle reads the session's history again after a publication.
func (ss *Sessions) RefreshChronicle(ctx context.Context, s *Session) error {
	again, err := ss.ReadChronicle(ctx, s)
	if err != nil {
		s.Forget() // the store has the new state, so the session must not continue with the old state
		return err
	}
	again.HeadGeneration = s.Chronicle.HeadGeneration
	s.Chronicle = again
	return nil
}
