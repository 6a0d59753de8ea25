package index

import (
	_ "embed"

	"github.com/ncruces/go-sqlite3"
)

//go:embed query/files_read.sql
var filesReadSQL string

// FilesRead looks at no more than maxReaders sessions, and returns no more than maxUses files.
const (
	maxReaders = 200
	maxUses    = 2_000
)

// A FileUse says how many sessions in a directory have read a file.
type FileUse struct {
	// Path is the file's path as the calls name it, so it may be relative to Directory, the directory of the sessions.
	Path, Directory string
	Sessions        int
	// Last is the time of the newest call, Unix ms.
	Last int64
}

// FilesRead returns the files that the newest sessions of a project have read. The file that most sessions have read is
// first.
func (v *View) FilesRead(project string) (all []FileUse, err error) {
	err = v.x.scan(filesReadSQL, func(s *sqlite3.Stmt) {
		all = append(all, FileUse{s.ColumnText(0), s.ColumnText(1), s.ColumnInt(2), s.ColumnInt64(3)})
	}, project, maxReaders, maxUses)
	return all, err
}
