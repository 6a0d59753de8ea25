package rawhistory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// A Stored is a session that a harness has stored on this machine.
type Stored struct {
	Session
	// Source is the file that holds the session.
	Source string
	// Stamp changes if the session changes.
	Stamp string
	// Messages is the number of messages, or 0 if only reading the session tells it.
	Messages int
}

// IsInDatabase reports whether the harness keeps the session in a database, and not in a file of its own.
func (s *Stored) IsInDatabase() bool { return s.Harness != schema.HarnessPi }

// A Source is a file in which a harness keeps sessions.
type Source struct {
	Harness schema.Harness
	Path    string
	// Sessions are those of each version of the harness, those that were used last first.
	Sessions []Stored
}

// List returns everything that the harnesses have stored, source by source. If a source cannot be read, List calls
// failed with its path and the reason, and goes on.
func (r Reader) List(ctx context.Context, failed func(path string, err error)) ([]Source, error) {
	var all []Source
	paths, err := r.OpenCodeDatabases()
	if err != nil && !errors.Is(err, ErrNoDatabase) && !errors.Is(err, fs.ErrNotExist) {
		failed("the database of OpenCode", err)
	}
	for _, path := range paths {
		source := Source{Harness: schema.HarnessOpenCode, Path: path}
		err := opencodedb.Read(ctx, path, func(db *opencodedb.DB) error {
			one, two, err := db.Sessions()
			add := func(harness schema.Harness, sessions []opencodedb.Session) {
				for _, s := range sessions {
					source.Sessions = append(source.Sessions, Stored{
						Session: Session{Harness: harness, ID: s.ID, Directory: s.Directory}, Source: path, Stamp: s.Stamp, Messages: s.Messages,
					})
				}
			}
			add(schema.HarnessOpenCode2, two)
			add(schema.HarnessOpenCode, one)
			return err
		})
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if err != nil {
			failed(path, err)
			continue
		}
		all = append(all, source)
	}
	return append(all, r.piFiles(ctx, failed)...), context.Cause(ctx)
}

// StoredBy returns a session as its harness has stored it.
func (r Reader) StoredBy(ctx context.Context, s Session) (Stored, error) {
	if s.Harness == schema.HarnessPi {
		path, err := r.findPiFile(ctx, s)
		if err != nil {
			return Stored{}, err
		}
		stored, err := piFileAt(path)
		stored.Session = s
		return stored, err
	}
	holds := (*opencodedb.DB).HasSession
	if s.Harness == schema.HarnessOpenCode2 {
		holds = (*opencodedb.DB).HasSessionOfTwo
	}
	path, err := r.databaseWith(ctx, s.ID, holds, func(*opencodedb.DB) error { return nil })
	return Stored{Session: s, Source: path}, err
}

// piFiles returns the session files of Pi, those that were written last first.
func (r Reader) piFiles(ctx context.Context, failed func(string, error)) (all []Source) {
	type found struct {
		source Source
		at     int64
	}
	var files []found
	seen := map[string]bool{}
	for _, dir := range r.piSessionDirs() {
		projects, err := projectsIn(dir, "")
		if err != nil {
			failed(dir, err)
		}
		for _, project := range projects {
			entries, _ := os.ReadDir(project) // a file among the directories has no entries
			for _, entry := range entries {
				path := filepath.Join(project, entry.Name())
				if ctx.Err() != nil {
					return nil
				}
				if !strings.HasSuffix(path, ".jsonl") || !entry.Type().IsRegular() || seen[path] {
					continue
				}
				seen[path] = true
				stored, err := piFileAt(path)
				if err != nil {
					failed(path, err)
					continue
				}
				at := int64(0)
				if info, err := entry.Info(); err == nil {
					at = info.ModTime().UnixNano()
				}
				files = append(files, found{Source{schema.HarnessPi, path, []Stored{stored}}, at})
			}
		}
	}
	slices.SortStableFunc(files, func(a, b found) int { return int(min(1, max(-1, b.at-a.at))) })
	for _, f := range files {
		all = append(all, f.source)
	}
	return all
}

// piFileAt reads the header of a session file.
func piFileAt(path string) (Stored, error) {
	f, size, err := openPlain(path)
	if err != nil {
		return Stored{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Stored{}, err
	}
	line, err := bufio.NewReader(io.LimitReader(f, 64<<10)).ReadBytes('\n')
	var header struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		CWD  string `json:"cwd"`
	}
	if err != nil || json.Unmarshal(line, &header) != nil || header.Type != "session" || !piSessionID.MatchString(header.ID) {
		return Stored{}, errors.New("the file does not begin with the header of a session of Pi")
	}
	return Stored{
		Session: Session{Harness: schema.HarnessPi, ID: header.ID, Directory: header.CWD},
		Source:  path, Stamp: fmt.Sprintf("%d %d", size, info.ModTime().UnixNano()),
	}, nil
}
