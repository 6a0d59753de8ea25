package session

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/project"
)

// FindProject looks for the identity of a directory's project. It may take seconds. If it does not find the
// identity, a later call tries again. Until then, new sessions of the directory belong to no project.
func (ss *Sessions) FindProject(ctx context.Context, directory string) {
	if err := ss.Projects.Find(ctx, directory); err != nil && ctx.Err() == nil {
		ss.Log.Warn("the project of a directory is not known, so its sessions learn no facts", "directory", directory, "error", err)
	}
}

// Enter notes that a session is in a directory, and the identity of the directory's project, as far as it is known.
// A session stays in the project of a repository if its directory is found without one, for example because
// another user owns the repository now. If the project of a running session changes, Enter reads its memories.
// The caller holds the session's lock.
func (ss *Sessions) Enter(ctx context.Context, s *Session, directory string) error {
	before, found := s.Row.Project, ss.Projects.Known(directory)
	if s.Row.Directory != directory {
		s.Row.Directory, s.Row.Project = directory, ""
	}
	if found != "" && (s.Row.Project == "" || project.IsRepository(found)) {
		s.Row.Project = found
	}
	if s.Row.Project == before || s.Pipe == nil {
		return nil
	}
	return ss.RefreshChronicle(ctx, s)
}
