package projectdocs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/regular"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func read(t *testing.T, dir string) Docs {
	t.Helper()
	docs, err := new(Reader).Read(t.Context(), dir)
	must(t, err)
	return docs
}

func contents(docs Docs) string {
	var all []string
	for _, d := range docs.Files {
		all = append(all, d.Name+"="+string(d.Content))
	}
	return strings.Join(all, " ")
}

func TestDocumentsAreReadInOrder(t *testing.T) {
	dir := t.TempDir()
	if docs := read(t, dir); contents(docs) != "" || docs.Refused != nil {
		t.Errorf("an empty directory: %+v", docs)
	}
	if docs := read(t, filepath.Join(dir, "nowhere")); contents(docs) != "" || docs.Refused != nil {
		t.Errorf("no directory: %+v", docs)
	}
	write(t, dir, "STRUCTURE.md", "s")
	write(t, dir, "README.md", "r")
	if got := contents(read(t, dir)); got != "STRUCTURE.md=s" {
		t.Error(got)
	}
	write(t, dir, "ARCHITECTURE.md", "a\xff\r\n")
	if got := contents(read(t, dir)); got != "ARCHITECTURE.md=a\xff\r\n STRUCTURE.md=s" {
		t.Error(got)
	}
}

func TestFileIsNoDirectory(t *testing.T) {
	path := write(t, t.TempDir(), "file", "")
	if _, err := new(Reader).Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

func TestLargestDocument(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ARCHITECTURE.md", strings.Repeat("a", 256<<10))
	write(t, dir, "STRUCTURE.md", strings.Repeat("a", 256<<10+1))
	docs := read(t, dir)
	if len(docs.Files) != 1 || len(docs.Files[0].Content) != 256<<10 || docs.Files[0].Name != "ARCHITECTURE.md" {
		t.Errorf("%d documents", len(docs.Files))
	}
	if len(docs.Refused) != 1 || !errors.Is(docs.Refused[0], ErrTooLarge) || !strings.Contains(docs.Refused[0].Error(), "STRUCTURE.md") {
		t.Errorf("refused: %v", docs.Refused)
	}
}

// Bug class H34: a repository may link a document to a private file, whose content would be sent to the model.
// So no link is followed, not even inside the project.
func TestBugH34LinkedDocumentIsNotRead(t *testing.T) {
	outside := write(t, t.TempDir(), "id_ed25519", "secret")
	for name, target := range map[string]string{
		"out of the project":          outside,
		"inside the project":          "REAL.md",
		"to a directory":              ".",
		"to nothing":                  "nowhere",
		"to itself":                   "ARCHITECTURE.md",
		"out, with a relative path":   strings.Repeat("../", 40) + strings.TrimPrefix(outside, "/"),
		"to a device that never ends": "/dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "REAL.md", "real")
			write(t, dir, "STRUCTURE.md", "s")
			if err := os.Symlink(target, filepath.Join(dir, "ARCHITECTURE.md")); err != nil {
				t.Skipf("no links on this system: %v", err)
			}
			docs := read(t, dir)
			if contents(docs) != "STRUCTURE.md=s" || len(docs.Refused) != 1 || !errors.Is(docs.Refused[0], regular.ErrNotRegular) {
				t.Errorf("%s, refused %v", contents(docs), docs.Refused)
			}
		})
	}
}

// A file with a zero byte is not text. Some providers refuse every prompt with a zero byte, and the head would
// repeat the byte in every prompt until the next fold.
func TestHostileCloneBinaryDocumentIsNotRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ARCHITECTURE.md", "# Text\n\x00\n")
	write(t, dir, "STRUCTURE.md", "s")
	docs := read(t, dir)
	if contents(docs) != "STRUCTURE.md=s" || len(docs.Refused) != 1 || !errors.Is(docs.Refused[0], ErrBinary) {
		t.Errorf("%s, refused %v", contents(docs), docs.Refused)
	}
}

func TestDirectoryIsNoDocument(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "ARCHITECTURE.md"), 0o700))
	if docs := read(t, dir); len(docs.Files) > 0 || len(docs.Refused) != 1 || !errors.Is(docs.Refused[0], regular.ErrNotRegular) {
		t.Errorf("%+v", docs)
	}
}

// Somebody may replace a file after the check of the file and before it is opened. The new file must not be read.
func TestBugH34SwappedDocumentIsNotRead(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dir, path string){
		"by a link out of the project": func(t *testing.T, _, path string) {
			must(t, os.Symlink(write(t, t.TempDir(), "secret", "secret"), path))
		},
		"by a link inside the project": func(t *testing.T, dir, path string) {
			write(t, dir, "other", "other")
			must(t, os.Symlink("other", path))
		},
		"by another file": func(t *testing.T, _, path string) { must(t, os.WriteFile(path, []byte("harmless"), 0o600)) },
		"by nothing":      func(*testing.T, string, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, "ARCHITECTURE.md", "harmless")
			root, err := os.OpenRoot(dir)
			must(t, err)
			defer root.Close()
			seen, err := root.Lstat("ARCHITECTURE.md")
			must(t, err)

			must(t, os.Rename(path, filepath.Join(dir, "moved"))) // the moved file keeps its inode, so the new file has another inode
			replace(t, dir, path)
			if content, err := readFile(root, "ARCHITECTURE.md", seen); err == nil {
				t.Errorf("read %q", content)
			}
		})
	}
}

func TestGrowingDocumentIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "ARCHITECTURE.md", "small")
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	seen, err := root.Lstat("ARCHITECTURE.md")
	must(t, err)
	must(t, os.WriteFile(path, make([]byte, maxSize+1), 0o600)) // the file is still the same
	if _, err := readFile(root, "ARCHITECTURE.md", seen); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

func TestDocumentsAreCachedByTimeAndSize(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "ARCHITECTURE.md", "one")
	then := time.Unix(1_700_000_000, 0)
	must(t, os.Chtimes(path, then, then))
	var r Reader
	is := func(want string) {
		t.Helper()
		docs, err := r.Read(t.Context(), dir)
		must(t, err)
		if got := contents(docs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	is("ARCHITECTURE.md=one")
	must(t, os.WriteFile(path, []byte("two"), 0o600))
	must(t, os.Chtimes(path, then, then))
	is("ARCHITECTURE.md=one") // same time and same size, so the cache is used
	must(t, os.Chtimes(path, then, then.Add(time.Second)))
	is("ARCHITECTURE.md=two")
	must(t, os.WriteFile(path, []byte("three"), 0o600))
	must(t, os.Chtimes(path, then, then.Add(time.Second)))
	is("ARCHITECTURE.md=three") // same time, but another size
	write(t, dir, "STRUCTURE.md", "s")
	is("ARCHITECTURE.md=three STRUCTURE.md=s")
	must(t, os.Remove(path))
	is("STRUCTURE.md=s")
}

func TestCacheIsBounded(t *testing.T) {
	var r Reader
	parent := t.TempDir()
	for i := range 5 * maxDirectories {
		dir := filepath.Join(parent, fmt.Sprint(i))
		must(t, os.Mkdir(dir, 0o700))
		write(t, dir, "STRUCTURE.md", "s")
		_, err := r.Read(t.Context(), dir)
		must(t, err)
		if len(r.cached) > maxDirectories {
			t.Fatalf("%d directories", len(r.cached))
		}
	}
}

// A file system that does not answer must not block a pass.
func TestReadEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	var r Reader
	hanging := make(chan struct{})
	begun := make(chan struct{})
	first := r.running.DoChan(dir, func() (any, error) { // this call imitates a read that hangs
		close(begun)
		<-hanging
		return Docs{}, nil
	})
	<-begun
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the pass is over")
	cancel(reason)
	if _, err := r.Read(ctx, dir); !errors.Is(err, reason) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	close(hanging)
	<-first
}
