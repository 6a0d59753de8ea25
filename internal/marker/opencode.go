package marker

import (
	"context"
	"errors"

	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// OpenCode sets markers in OpenCode's databases, and is safe for concurrent use.
type OpenCode struct {
	// Environment variables say where OpenCode keeps its databases.
	Env func(string) string
}

// ErrImpossible means that the message is gone, or that OpenCode itself has compacted the session at that message.
var ErrImpossible = errors.New("the marker has no place")

// Set puts a marker at the boundary, which is the user's newest prompt at or before the message `through`. OpenCode's
// next array begins with the boundary.
func (o OpenCode) Set(ctx context.Context, session, through string) (boundary string, err error) {
	path, err := o.find(ctx, session, func(*opencodedb.DB) error { return nil })
	if err != nil {
		return "", err
	}
	m, err := opencodedb.Mark(ctx, path, session, through)
	if errors.Is(err, opencodedb.ErrGone) || errors.Is(err, opencodedb.ErrCompacted) {
		err = errors.Join(ErrImpossible, err)
	}
	return m.Boundary, err
}

// If the session is gone, Remove returns no error.
func (o OpenCode) Remove(ctx context.Context, session string) error {
	var set []opencodedb.Marker
	path, err := o.find(ctx, session, func(db *opencodedb.DB) (err error) {
		set, err = db.Markers(session)
		return err
	})
	switch {
	case errors.Is(err, rawhistory.ErrUnknownSession):
		return nil // the rows of the marker were deleted with the session
	case err != nil || len(set) == 0:
		return err
	}
	_, err = opencodedb.Unmark(ctx, path, session)
	return err
}

// IsWhole reports whether all rows of the marker at the boundary exist.
func (o OpenCode) IsWhole(ctx context.Context, session, boundary string) (whole bool, err error) {
	_, err = o.find(ctx, session, func(db *opencodedb.DB) error {
		set, err := db.Markers(session)
		for _, m := range set {
			whole = m.Boundary == boundary && m.CompactionPart != "" && m.SummaryPart != ""
		}
		return err
	})
	if errors.Is(err, rawhistory.ErrUnknownSession) {
		return false, nil
	}
	return whole, err
}

// RemoveAll removes the markers of all sessions, with their copies in forks, and returns their number.
func (o OpenCode) RemoveAll(ctx context.Context) (removed int, err error) {
	paths, err := rawhistory.Reader{Env: o.Env}.OpenCodeDatabases()
	if errors.Is(err, rawhistory.ErrNoDatabase) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, path := range paths {
		n, err := opencodedb.Unmark(ctx, path, "")
		removed += n
		problems = append(problems, err)
	}
	return removed, errors.Join(problems...)
}

func (o OpenCode) find(ctx context.Context, session string, read func(*opencodedb.DB) error) (string, error) {
	return rawhistory.Reader{Env: o.Env}.OpenCodeDatabase(ctx, session, read)
}
