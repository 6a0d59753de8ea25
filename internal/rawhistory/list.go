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
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

// A Stored is a session that a harness has stored on this machine.
type Stored struct {
	Session
	Source string
	// Stamp changes if the session changes.
	Stamp string
	// Messages is 0 if the number is unknown, because nobody has read the session yet.
	Messages int
}

// IsInDatabase reports whether the session is in a database, as in OpenCode. Other programs write
// one file for each session.
func (s *Stored) IsInDatabase() bool { return s.Harness.Program() == schema.HarnessOpenCode }

// A Source is a file in which a harness keeps sessions.
type Source struct {
	Harness schema.Harness
	Path    string
	// Sessions are the sessions of all versions of the harness, the most recently used first.
	Sessions []Stored
}

// List returns the sources on this machine. If it cannot read a source, it calls `failed` with the path and the reason,
// and continues.
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
	return append(all, r.files(ctx, failed)...), context.Cause(ctx)
}

func (r Reader) Sessions(ctx context.Context) (all []Stored) {
	sources, _ := r.List(ctx, func(string, error) {})
	for _, source := range sources {
		all = append(all, source.Sessions...)
	}
	return all
}

func (r Reader) StoredBy(ctx context.Context, s Session) (Stored, error) {
	if s.Harness == schema.HarnessPi {
		path, err := r.findPiFile(ctx, s)
		if err != nil {
			return Stored{}, err
		}
		stored, err := piFileAt(path)
		if err != nil {
			return Stored{}, err
		}
		stored.Session = s
		return *stored, nil
	}
	holds := (*opencodedb.DB).HasSession
	if s.Harness == schema.HarnessOpenCode2 {
		holds = (*opencodedb.DB).HasSessionOfTwo
	}
	path, err := r.databaseWith(ctx, s.ID, holds, func(*opencodedb.DB) error { return nil })
	return Stored{Session: s, Source: path}, err
}

// The method `files` returns the sessions of the programs that store each session in a separate file. It lists one
// program after the other, and for each program the most recently written session first.
func (r Reader) files(ctx context.Context, failed func(string, error)) (all []Source) {
	all = filesWith(ctx, schema.HarnessPi, r.piFiles(failed), piFileAt, failed)
	for _, harness := range Readable {
		if format := logFormats[harness]; format != nil {
			all = append(all, filesWith(ctx, harness, r.logsOf(format, "*"), func(path string) (*Stored, error) { return logAt(ctx, harness, path) }, failed)...)
		}
	}
	return all
}

func filesWith(ctx context.Context, harness schema.Harness, paths []string, read func(path string) (*Stored, error), failed func(string, error)) (all []Source) {
	at := map[string]time.Time{}
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil
		}
		if _, isSeen := at[path]; isSeen {
			continue
		}
		at[path] = time.Time{}
		stored, err := read(path)
		if err != nil {
			failed(path, err)
		}
		if err != nil || stored == nil {
			continue
		}
		if info, err := os.Lstat(path); err == nil {
			at[path] = info.ModTime()
		}
		all = append(all, Source{harness, path, []Stored{*stored}})
	}
	slices.SortStableFunc(all, func(a, b Source) int { return at[b.Path].Compare(at[a.Path]) })
	return all
}

func (r Reader) piFiles(failed func(string, error)) (paths []string) {
	for _, dir := range r.piSessionDirs() {
		projects, err := projectsIn(dir, "")
		if err != nil {
			failed(dir, err)
		}
		for _, project := range projects {
			entries, _ := os.ReadDir(project) // a file among the directories has no entries
			for _, entry := range entries {
				path := filepath.Join(project, entry.Name())
				if strings.HasSuffix(path, ".jsonl") && entry.Type().IsRegular() {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

func piFileAt(path string) (*Stored, error) {
	f, _, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 64<<10)).ReadBytes('\n')
	var header struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		CWD  string `json:"cwd"`
	}
	if err != nil || json.Unmarshal(line, &header) != nil || header.Type != "session" || !piSessionID.MatchString(header.ID) {
		return nil, errors.New("the file does not begin with the header of a session of Pi")
	}
	stamp, err := stampOf(f)
	return &Stored{Session: Session{Harness: schema.HarnessPi, ID: header.ID, Directory: header.CWD}, Source: path, Stamp: stamp}, err
}

// stampOf returns a text that changes if somebody writes to the file.
func stampOf(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano()), nil
}
