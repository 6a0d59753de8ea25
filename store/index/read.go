package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/file"
)

//go:embed query/candidates.sql
var candidatesSQL string

// A View is a snapshot of the index: it does not change while it is used.
type View struct{ x *Index }

// View calls `read` with a snapshot of the index.
func (x *Index) View(ctx context.Context, read func(*View) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := func() (err error) {
		if x.conn == nil {
			return errors.New("the index is closed")
		}
		defer x.conn.SetInterrupt(x.conn.SetInterrupt(ctx))
		defer x.conn.Begin().End(&err)
		return read(&View{x})
	}()
	if err != nil {
		return fmt.Errorf("read the index %s: %w", x.path, file.Classify(ctx, err))
	}
	return nil
}

// Size returns the number of chunks, including those that were replaced.
func (v *View) Size() (n int, err error) {
	err = v.x.scan(`SELECT coalesce(max(id), 0) FROM chunks`, func(s *sqlite3.Stmt) { n = s.ColumnInt(0) })
	return n, err
}

//go:embed query/frequency.sql
var frequencySQL string

// Frequency counts at most this number of rows.
const counted = 500

// Frequency returns how many chunks contain a term. To be fast, it counts only the newest `counted` chunks with the
// term. If there may be more, it estimates their number from the distance between these chunks.
func (v *View) Frequency(term string) (int, error) {
	n, oldest := 0, 0
	err := v.x.scan(frequencySQL, func(s *sqlite3.Stmt) { n, oldest = s.ColumnInt(0), s.ColumnInt(1) }, `"`+term+`"`, counted)
	if err != nil || n < counted {
		return n, err
	}
	size, err := v.Size()
	return max(n, n*size/(size-oldest+1)), err
}

// Project returns the row of a project, or 0 if the index contains nothing of the project.
func (v *View) Project(identity string) (row int64, err error) {
	err = v.x.scan(`SELECT id FROM projects WHERE identity = ?`, func(s *sqlite3.Stmt) { row = s.ColumnInt64(0) }, identity)
	return row, err
}

// Row returns the row of a session, or 0 if the index contains nothing of the session.
func (v *View) Row(harness, session string) (row int64, err error) {
	err = v.x.scan(`SELECT id FROM sessions WHERE harness = ? AND session = ?`, func(s *sqlite3.Stmt) { row = s.ColumnInt64(0) }, harness, session)
	return row, err
}

// Has reports whether a session has chunks of a message. session is the row of the session.
func (v *View) Has(session int64, message string) (found bool, err error) {
	err = v.x.scan(`SELECT 1 FROM chunks WHERE session = ? AND message = ? LIMIT 1`, func(*sqlite3.Stmt) { found = true }, session, message)
	return found, err
}

// SessionIn returns the session with the given id in a project, or nil if the project has no such session.
func (v *View) SessionIn(project, id string) (found *Session, err error) {
	err = v.x.scan(`SELECT s.harness, s.directory FROM sessions s JOIN projects p ON p.id = s.project WHERE p.identity = ? AND s.session = ?`, func(s *sqlite3.Stmt) {
		found = &Session{Harness: s.ColumnText(0), ID: id, Project: project, Directory: s.ColumnText(1)}
	}, project, id)
	return found, err
}

// A Scope restricts a search.
type Scope struct {
	// Project is the row of the only project to search, or 0.
	Project int64
	// Session is the row of the session that asks. In this session, only messages up to the ordinal Through match,
	// because the model still sees the later ones. If Session is 0, there is no such limit.
	Session int64
	Through int
	// Parts lists the parts of messages after Through that match nevertheless.
	Parts []Part
	Filter
}

// A Filter restricts a search to chunks that match all of its fields. An empty field matches every chunk.
type Filter struct {
	Kinds              []Kind
	Role               Role
	Harness, SessionID string
	// Since is the oldest time, Unix ms.
	Since int64
}

func (f *Filter) kinds() (list string) {
	for _, k := range f.Kinds {
		list += " " + string(k) + " "
	}
	return list
}

// A Part is one of the two parts of a message: its texts, or its calls.
type Part struct {
	Message string // key
	IsCall  bool
}

func (s *Scope) parts() string {
	all := []string{}
	for _, p := range s.Parts {
		kind := "text "
		if p.IsCall {
			kind = "call "
		}
		all = append(all, kind+p.Message)
	}
	array, _ := json.Marshal(all) // texts always encode
	return string(array)
}

// Find calls yield for each chunk that matches an expression of terms, beginning with the newest row. It calls yield at
// most limit times.
func (v *View) Find(expression string, in Scope, limit int, yield func(Hit)) error {
	return v.x.scan(candidatesSQL, func(s *sqlite3.Stmt) { yield(readHit(s)) }, expression, in.Session, in.Through, in.Project, in.parts(), limit,
		in.kinds(), string(in.Role), in.Harness, in.SessionID, in.Since)
}

//go:embed query/around.sql
var aroundSQL string

// Around calls yield for each chunk near a hit: the chunk's message is at most `far` messages away from the hit.
func (v *View) Around(h *Hit, far int, in Scope, yield func(Hit)) error {
	return v.x.scan(aroundSQL, func(s *sqlite3.Stmt) { yield(readHit(s)) }, h.session, h.Last-far, h.Last+far, in.Session, in.Through, in.parts(),
		in.kinds(), string(in.Role), in.Since)
}

//go:embed query/following.sql
var followingSQL string

// Following calls yield for the chunk of a hit and for the chunks after it in the same session, including files, at
// most limit times. It looks at no more than `rows` rows after the hit, some of which may belong to other sessions.
// This bound makes it fast enough that a pass can wait for it.
func (v *View) Following(h *Hit, rows, limit int, yield func(Hit)) error {
	return v.x.scan(followingSQL, func(s *sqlite3.Stmt) { yield(readHit(s)) }, h.row, rows, h.session, limit)
}

func (h *Hit) Row() int64 { return h.row }

// Counts returns how many sessions and chunks the index has.
func (v *View) Counts() (sessions, chunks int, err error) {
	err = v.x.scan(`SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM chunks)`, func(s *sqlite3.Stmt) { sessions, chunks = s.ColumnInt(0), s.ColumnInt(1) })
	return sessions, chunks, err
}
