package indexing

import (
	"context"
	"os"
	"time"

	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

// The index treats the commits of a project as the messages of one session, whose harness is harnessGit.
const harnessGit = "git"

// Commits indexes the commits that can be reached from the HEAD of a directory, and returns their number. It skips the
// commits that could already be reached from the HEAD of the last complete run. If a branch was merged since then,
// Commits also finds the old commits of this branch. After an error, the next run starts over, and stores no commit
// twice.
func (x *Indexer) Commits(ctx context.Context, directory, identity string, cfg schema.Config) (read int, err error) {
	if _, err := os.Stat(directory); err != nil || !project.IsRepository(identity) || !cfg.Memory.GitCommitIndexing.Enabled {
		return 0, nil // if the directory is gone, its commits stay in the index
	}
	limit, since := cfg.Memory.GitCommitIndexing.MaxCommits, time.Now().AddDate(0, 0, -cfg.Memory.GitCommitIndexing.SinceDays)
	head, err := project.Head(ctx, directory)
	if err != nil {
		return 0, err
	}
	var state index.State
	err = x.Index.Update(ctx, func(tx *index.Tx) (err error) {
		state, err = tx.Session(index.Session{Harness: harnessGit, ID: identity, Project: identity, Directory: directory})
		return err
	})
	if err != nil || state.Stamp == head {
		return 0, err
	}
	var batch []index.Message
	write := func() error {
		all, started := batch, time.Now()
		batch = batch[:0]
		err := x.Index.Update(ctx, func(tx *index.Tx) error {
			for i := range all {
				if err := tx.Put(state.Row, identity, all[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = x.rest(ctx, started)
		}
		return err
	}
	take := func(c project.Commit) error {
		read++
		if batch = append(batch, ofCommit(&c)); len(batch) == batchMessages {
			return write()
		}
		return nil
	}
	err = project.Commits(ctx, directory, project.Span{Head: head, Known: state.Stamp, Since: since, Limit: limit}, take)
	if err != nil && state.Stamp != "" && ctx.Err() == nil { // git no longer has the commit, for example after a rebase
		err = project.Commits(ctx, directory, project.Span{Head: head, Since: since, Limit: limit}, take)
	}
	if err == nil {
		err = write()
	}
	if err != nil {
		return read, err
	}
	return read, x.Index.Update(ctx, func(tx *index.Tx) error { return tx.Finish(state.Row, head) })
}

func ofCommit(c *project.Commit) index.Message {
	text := clean(c.Subject, maxChunk)
	if body := clean(c.Body, maxChunk); body != "" {
		text += "\n\n" + body
	}
	m := index.Message{Key: c.ID, At: c.At, Chunks: []index.Chunk{{Kind: index.Commit, Role: index.Tool, Text: text}}}
	m.Hash = hash(m.Chunks)
	return m
}

// Lacking returns the commits that the index lacks. x.Index may be nil.
func (x *Indexer) Lacking(ctx context.Context, identity string, all []project.Commit) (lacking []project.Commit, err error) {
	if x.Index == nil {
		return all, nil
	}
	err = x.Index.View(ctx, func(v *index.View) error {
		row, err := v.Row(harnessGit, identity)
		for i := range all {
			isThere := false
			if err == nil {
				isThere, err = v.Has(row, all[i].ID)
			}
			if !isThere {
				lacking = append(lacking, all[i])
			}
		}
		return err
	})
	return lacking, err
}

func (x *Indexer) Add(ctx context.Context, identity string, all []project.Commit) error {
	return x.Index.Update(ctx, func(tx *index.Tx) error {
		state, err := tx.Session(index.Session{Harness: harnessGit, ID: identity, Project: identity})
		for i := range all {
			if err == nil {
				err = tx.Put(state.Row, identity, ofCommit(&all[i]))
			}
		}
		return err
	})
}
