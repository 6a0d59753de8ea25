package session

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/project"
)

// FindProject looks for the project of a directory, which may take seconds. If it fails, a later call tries
// again. Until then, new sessions of the directory belong to no project.
func (ss *Sessions) FindProject(ctx context.Context, directory string) {
	if err := ss.Projects.Find(ctx, directory); err != nil && ctx.Err() == nil {
		ss.Log.Warn("the project of a directory is not known, so its sessions learn no facts", "directory", directory, "error", err)
	}
}

// Enter stores the directory of a session and, if known, the identity of its project. A session of a repository
// keeps this project even if git no longer finds the repository, for example because another user owns it now.
// If the project of a running session changes, Enter reads the new project's memories. The caller holds the
// session's lock.
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
