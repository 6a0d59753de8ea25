package rawhistory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/regular"
)

// piSessionID matches the ids that Pi accepts. An id becomes a part of a file name, so any other id could lead to
// another directory.
var piSessionID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (r Reader) findPiFile(ctx context.Context, s Session) (string, error) {
	if !piSessionID.MatchString(s.ID) {
		return "", fmt.Errorf("%w: Pi has no session with such an id", ErrUnknownSession)
	}
	dirs := r.piSessionDirs()
	if len(dirs) == 0 {
		return "", errors.New("the agent directory of Pi is unknown: neither PI_CODING_AGENT_DIR nor HOME is set")
	}
	for _, dir := range dirs {
		projects, err := projectsIn(dir, s.Directory)
		if err != nil {
			return "", err
		}
		for _, project := range projects {
			if err := ctx.Err(); err != nil {
				return "", context.Cause(ctx)
			}
			if file := newestFileOf(project, s.ID); file != "" {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%w: no session file of Pi for it in %s; if Pi keeps its sessions elsewhere, set PI_CODING_AGENT_SESSION_DIR", ErrUnknownSession, strings.Join(dirs, " and "))
}

func (r Reader) piSessionDirs() (dirs []string) {
	agent := r.expandHome(r.Env("PI_CODING_AGENT_DIR"))
	if agent == "" && r.home() != "" {
		agent = filepath.Join(r.home(), ".pi", "agent")
	}
	add := func(dir string) {
		if dir = r.expandHome(dir); dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(r.Env("PI_CODING_AGENT_SESSION_DIR"))
	if agent != "" {
		add(sessionDirOf(agent))
		add(filepath.Join(agent, "sessions"))
	}
	return dirs
}

const maxSettings = 1 << 20

// sessionDirOf returns the session directory from the user's settings of Pi, or "".
func sessionDirOf(agent string) string {
	path := filepath.Join(agent, "settings.json")
	content, err := regular.Read(path, maxSettings)
	if err != nil {
		return ""
	}
	var settings struct {
		SessionDir string `json:"sessionDir"`
	}
	_ = json.Unmarshal(content, &settings) // Pi ignores settings that it cannot read, so we do too
	return settings.SessionDir
}

func (r Reader) expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' || r.home() == "" {
		return path
	}
	return filepath.Join(r.home(), rest)
}

// piProject returns the name of the directory that holds a project's sessions, for example "--home-user-project--" for
// /home/user/project.
func piProject(directory string) string {
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(directory, `/\`)) + "--"
}

// projectsIn returns the directories in which the file of a session may be, beginning with the directory of the
// session's own project. The result also contains dir itself, because Pi may write files directly into a session
// directory that the user has set.
func projectsIn(dir, project string) ([]string, error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := []string{dir}
	for _, f := range found {
		switch path := filepath.Join(dir, f.Name()); {
		case project != "" && f.Name() == piProject(project):
			all = slices.Insert(all, 0, path)
		case !strings.HasSuffix(f.Name(), ".jsonl"):
			all = append(all, path)
		}
	}
	return all, nil
}

// newestFileOf returns the newest file of a session, or "". The name of a file begins with the time at which the
// session began, so the last name in alphabetical order belongs to the newest file.
func newestFileOf(dir, id string) (path string) {
	files, err := os.ReadDir(dir) // ReadDir sorts the files
	if err != nil {
		return "" // the directory is missing, or is one that Pi could not have created
	}
	for _, f := range files {
		if name := f.Name(); name == id+".jsonl" || strings.HasSuffix(name, "_"+id+".jsonl") {
			path = filepath.Join(dir, name)
		}
	}
	return path
}

func openPlain(path string) (f *os.File, size int64, err error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	seen, err := root.Lstat(filepath.Base(path))
	if err != nil {
		return nil, 0, err
	}
	f, info, err := regular.Open(root, filepath.Base(path), seen)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return f, info.Size(), nil
}
