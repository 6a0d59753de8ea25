package keyfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/index"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type bench struct {
	*Reader
	t             *testing.T
	dir, indexDir string
	sessions      int
}

func repository(t *testing.T) string {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700))
	return dir
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, dir: repository(t), indexDir: t.TempDir(), Reader: &Reader{Clock: clock.NewManual(1_700_000_000_000)}}
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	must(b.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(b.t, os.WriteFile(path, []byte(content), 0o600))
}

// Each of the sessions has read all of these files.
func (b *bench) reads(sessions int, directory string, paths ...string) {
	b.t.Helper()
	x, err := index.Open(b.t.Context(), b.indexDir)
	must(b.t, err)
	defer x.Close()
	must(b.t, x.Update(b.t.Context(), func(tx *index.Tx) error {
		for range sessions {
			b.sessions++
			state, err := tx.Session(index.Session{Harness: "pi", ID: fmt.Sprint(b.sessions), Project: "p", Directory: directory})
			if err != nil {
				return err
			}
			for i, p := range paths {
				m := index.Message{Key: fmt.Sprint("m", i), Ordinal: i + 1, At: int64(i + 1), Hash: int64(i), Chunks: []index.Chunk{{Kind: index.Read, Role: index.Tool, Subject: p, Text: p}}}
				if err := tx.Put(state.Row, "p", m); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// The method `found` returns "PATH=READS" for each file that was found. It adds "gone" if the file no longer exists,
// and "no outline" if the file has none.
func (b *bench) found(shown ...string) string {
	b.t.Helper()
	b.Clock.(*clock.Manual).Advance(2 * freshMS * 1e6)
	files, err := b.Read(b.t.Context(), Question{Directory: b.dir, Project: "p", IndexDir: b.indexDir, MinReads: 3, Shown: shown})
	must(b.t, err)
	var all []string
	for _, f := range files {
		text := fmt.Sprint(f.Path, "=", f.Reads)
		if f.IsGone {
			text += " gone"
		} else if f.Outline == "" {
			text += " no outline"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func (b *bench) expect(what, want string, shown ...string) {
	b.t.Helper()
	if got := b.found(shown...); got != want {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The most-read files come first. A call may name a file by its absolute path. If a call reads a file in a worktree,
// the read counts for the worktree's repository.
func TestMostReadFilesComeFirst(t *testing.T) {
	b := newBench(t)
	b.expect("without an index", "")
	other := repository(t)
	for _, name := range []string{"a.go", "b/c.py", "d.ts", "README.md", "package-lock.json", "node_modules/x.js", ".hidden/y.go"} {
		b.write(name, "package a\nfunc F() {}\ndef f():\nexport function f() {}\n")
	}
	b.reads(3, b.dir, "b/c.py", "README.md", "package-lock.json", "node_modules/x.js", ".hidden/y.go", filepath.Join(other, "z.go"), "never-written.go")
	b.reads(2, b.dir, filepath.Join(b.dir, "a.go"), "d.ts")
	b.reads(1, filepath.Join(b.dir, "b"), "c.py")
	b.reads(1, other, filepath.Join(other, "a.go"))
	b.expect("first", "b/c.py=4, a.go=3")
	must(t, os.Remove(filepath.Join(b.dir, "b/c.py")))
	b.expect("with shown files", "a.go=3, b/c.py=0 gone, d.ts=0", "b/c.py", "a.go", "d.ts")
}

// H34: a file in a repository may be a link to a private file, may not be text, or may never end. The paths come from
// models, so they may also lead out of the project.
func TestBugH34HostileKeyFilesAreNotRead(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "secret.go")
	must(t, os.WriteFile(outside, []byte("package a\nfunc Secret() {}"), 0o600))
	b.write("real.go", "package a\nfunc F() {}")
	b.write("binary.go", "package a\nfunc F() {}\x00")
	b.write("large.go", "package a\nfunc F() {}\n"+strings.Repeat("//\n", maxSize/3))
	b.write("empty.go", "")
	for name, target := range map[string]string{"out.go": outside, "in.go": "real.go", "device.go": "/dev/zero", "kernel.go": "/proc/self/status", "up": filepath.Dir(outside)} {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Skipf("no links on this system: %v", err)
		}
	}
	must(t, os.Mkdir(filepath.Join(b.dir, "directory.go"), 0o700))
	hostile := []string{
		"out.go", "in.go", "device.go", "kernel.go", "up/secret.go", "binary.go", "large.go", "empty.go", "directory.go",
		outside, "../" + filepath.Base(filepath.Dir(outside)) + "/secret.go", "real.go/../../x.go", "a\nb.go", "a\u202eb.go", "", ".", "/",
	}
	b.reads(5, b.dir, append(hostile, "real.go")...)
	b.expect("hostile", "real.go=5")
}

func TestKeyFilesAreKeptForAMinute(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "package a\nfunc F() {}")
	b.reads(3, b.dir, "a.go")
	b.expect("first", "a.go=3")
	b.reads(1, b.dir, "a.go")
	q := Question{Directory: b.dir, Project: "p", IndexDir: b.indexDir, MinReads: 3}
	if files, err := b.Read(t.Context(), q); err != nil || files[0].Reads != 3 {
		t.Errorf("%v, %v", files, err)
	}
	b.expect("later", "a.go=4")
	for i := range 3 * maxCached {
		q.MinReads = 10 + i
		_, err := b.Read(t.Context(), q)
		must(t, err)
	}
	if len(b.cached) > maxCached {
		t.Errorf("%d results are kept", len(b.cached))
	}
}

func TestOutlines(t *testing.T) {
	for name, c := range map[string]struct{ ending, source, want string }{
		"Go": {
			".go", "package a\nimport \"x\"\nconst Key, other = 1, 2\nvar Err = f()\ntype S struct {\n\ta int\n}\ntype I[T any] interface{ F() }\ntype D = time.Duration\nfunc (s *S) F(\n\ta int,\n) (b error) {\n\treturn nil\n}\nfunc main() { if x() {} }\n",
			"const Key|var Err|type S struct|type I[T any] interface|type D = time.Duration|func (s *S) F( a int, ) (b error)|func main()",
		},
		"Go with a mistake": {".go", "package a\nfunc F() {}\nfunc (", "func F()"},
		"Python":            {".py", "import os\nclass A(B):\n    def f(self, a=1):\n        return g(a)\nasync def h() -> int:\n    x = 1\n", "class A(B)|    def f(self, a=1)|async def h() -> int"},
		"TypeScript": {
			".ts", "import x from 'y'\nexport const token = 'abc'\nexport default class A<T> extends B {\n  private async f(a: string): Promise<void> {\n    if (a) {\n    for (const b of a) {\n  }\n}\nexport type T = { a: 1 }\ninterface I {\nexport async function g<T>(a: T) {\n",
			"export const token|export default class A<T> extends B|  private async f(a: string): Promise<void>|export type T|interface I|export async function g<T>(a: T)",
		},
		"Rust":       {".rs", "use x;\npub struct A {\n}\nimpl<T> A {\n    pub async fn f(&self) -> u8 {\n        let a = g();\n", "pub struct A|impl<T> A|    pub async fn f(&self) -> u8"},
		"Java":       {".java", "package a;\npublic final class A {\n  private int x = f();\n  public static void main(String[] args) {\n    call(a);\n    return f(x);\n", "public final class A|  public static void main(String[] args)"},
		"C":          {".c", "#include <x.h>\n#define MAX(a, b) a\nstruct s {\nstatic int f(int a)\n{\n  g(a);\n}\nint declared(void);\n", "#define MAX(a, b) a|struct s|static int f(int a)"},
		"shell":      {".sh", "set -e\nf() {\n  g\n}\n", "f()"},
		"SQL":        {".sql", "CREATE TABLE a (\n  b INT\n);\nselect 1;\n", "CREATE TABLE a ("},
		"none":       {".py", "x = 1\n", ""},
		"a secret":   {".py", "def f(key='gh" + "p_q7Zt4Xw9Lm2Kc8Vb5Rn1Hd6Jf3Gs0PyTeUaW')\n", "def f(key='[redacted GitHub token]')"},
		"long lines": {".py", "def f(" + strings.Repeat("ä", 200) + ")\n" + "def g" + strings.Repeat("x", 5_000) + "\n", "def f(" + strings.Repeat("ä", 77) + "…"},
	} {
		if got := strings.ReplaceAll(joined(languages[c.ending]([]byte(c.source))), "\n", "|"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	many := joined(languages[".py"]([]byte(strings.Repeat("def f()\n", 100))))
	if !strings.HasSuffix(many, "def f()\n… and 40 more") {
		t.Error(many)
	}
}

// Outlining a stranger's file must not take long. Go's regular expressions guarantee this, because their time is
// linear.
func FuzzOutline(f *testing.F) {
	f.Add([]byte("package a\nfunc F() {}\nclass A:\n  def f()"))
	f.Fuzz(func(t *testing.T, source []byte) {
		for ending, outline := range languages {
			if text := joined(outline(source)); len(text) > (maxLines+1)*(maxLine+40) {
				t.Errorf("%s: %d bytes", ending, len(text))
			}
		}
	})
}
