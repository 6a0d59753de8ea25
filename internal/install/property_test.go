package install

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/jsonc"
)

type writer struct {
	t       *rapid.T
	newline string
	indent  string
	tidy    bool // no comments, and line breaks only where people put them
	strict  bool // no comments, and no trailing commas
	b       strings.Builder
}

func drawConfiguration(t *rapid.T, h *Harness) string {
	w := &writer{
		t: t, strict: h.isStrict, newline: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline"),
		indent: rapid.SampledFrom([]string{"  ", "    ", "\t"}).Draw(t, "indent"),
		tidy:   rapid.Bool().Draw(t, "tidy"),
	}
	if rapid.Bool().Draw(t, "bom") {
		w.b.WriteString("\ufeff")
	}
	w.extra()
	members := []string{`"model"`, `"provider"`, `"$schema"`}
	for _, name := range []string{`"` + h.List + `"`, `"compaction"`} {
		if rapid.Bool().Draw(t, name) {
			members = append(members, name)
		}
	}
	members = rapid.Permutation(members).Draw(t, "members")
	members = members[:rapid.IntRange(0, len(members)).Draw(t, "number of members")]
	w.container("{", "}", w.indent, len(members), func(i int) {
		w.name(members[i])
		switch members[i] {
		case `"packages"`:
			entries := rapid.SliceOfN(rapid.SampledFrom([]string{`"npm:one"`, `{"source": "../two", "skills": []}`, `"./three.ts"`, `"git:github.com/u/four@v1"`}), 0, 4).Draw(t, "packages")
			w.container("[", "]", w.indent+w.indent, len(entries), func(i int) { w.b.WriteString(entries[i]) })
		case `"plugin"`:
			entries := rapid.SliceOfN(rapid.SampledFrom([]string{`"one"`, `["two", { "x": 1 }]`, `"./three.ts"`, `"file:///four"`}), 0, 4).Draw(t, "plugins")
			w.container("[", "]", w.indent+w.indent, len(entries), func(i int) { w.b.WriteString(entries[i]) })
		case `"compaction"`:
			keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{`"auto"`, `"prune"`, `"reserved"`}), 0, 3, rapid.ID).Draw(t, "keys")
			w.container("{", "}", w.indent+w.indent, len(keys), func(i int) {
				w.name(keys[i])
				w.b.WriteString(rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "value"))
			})
		case `"` + h.List + `"`:
			t.Fatalf("no case draws the entries of %q, the list of %s: add one to drawConfiguration", h.List, h.Name)
		default:
			inner := `{"k": [1, 2] /* in */}`
			if w.strict {
				inner = `{"k": [1, 2] }`
			}
			w.b.WriteString(rapid.SampledFrom([]string{`1.50`, `"a // no comment"`, inner, `[]`, `"\ud83d"`}).Draw(t, "value"))
		}
	})
	w.extra()
	return w.b.String()
}

func (w *writer) name(name string) {
	w.b.WriteString(name)
	if !w.tidy {
		w.extra()
	}
	w.b.WriteString(":" + rapid.SampledFrom([]string{" ", ""}).Draw(w.t, "colon"))
}

// container writes an object or a list with random white space between its elements. Without elements, it writes no
// white space, because an uninstallation could not restore this white space.
func (w *writer) container(open, end, indent string, n int, child func(i int)) {
	w.b.WriteString(open)
	lines := rapid.Bool().Draw(w.t, "in lines")
	for i := range n {
		if w.tidy && lines {
			w.b.WriteString(w.newline + indent)
		} else {
			w.extra()
		}
		child(i)
		if !w.tidy {
			w.extra()
		}
		if i < n-1 || !w.strict && rapid.Bool().Draw(w.t, "trailing comma") {
			w.b.WriteString(",")
		}
	}
	switch {
	case n == 0:
	case w.tidy && lines:
		w.b.WriteString(w.newline + strings.TrimSuffix(indent, w.indent))
	default:
		w.extra()
	}
	w.b.WriteString(end)
}

func (w *writer) extra() {
	n := w.newline
	if w.strict {
		w.b.WriteString(rapid.SampledFrom([]string{"", "", " ", n + w.indent, n + n, "\t"}).Draw(w.t, "extra"))
		return
	}
	w.b.WriteString(rapid.SampledFrom([]string{
		"", "", " ", n + w.indent, n + n, " // why" + n, n + w.indent + "// \"auto\": true," + n + w.indent, " /* so */ ", "/* a" + n + " b */", "// x" + n + n + "// y" + n,
	}).Draw(w.t, "extra"))
}

// The removal works with the backup and without it.
func TestUninstallUndoesInstallByteForByte(t *testing.T) {
	for _, h := range Harnesses {
		t.Run(h.Name, func(t *testing.T) { uninstallUndoesInstall(t, h) })
	}
}

func uninstallUndoesInstall(t *testing.T, h *Harness) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawConfiguration(t, h)
		p := newHomeOf(t, h)
		file := filepath.Join(p.dir, h.files[len(h.files)-1])
		p.write(file, before)
		listing := p.list()

		plan := p.install()
		if err := plan.Apply(); err != nil {
			t.Fatal(err)
		}
		installed := p.read(file)
		if again := p.install(); !again.IsEmpty() {
			t.Fatalf("a second installation changes\n%s", again.Diff(false))
		}
		removal, err := Uninstall(context.Background(), p.Place)
		if err != nil {
			t.Fatal(err)
		}
		if err := removal.Apply(); err != nil {
			t.Fatal(err)
		}
		if got := p.read(file); got != before {
			t.Fatalf("uninstall of\n%q\ngives\n%q", installed, got)
		}
		if diff := cmp.Diff(listing, p.list()); diff != "" {
			t.Fatalf("files left over (-before +after):\n%s", diff)
		}

		d, err := jsonc.ParseDocument(file, []byte(installed))
		if err != nil {
			t.Fatal(err)
		}
		if err := (configuration{d, p.Place}).disable(plan.record.Spec, plan.record.Former); err != nil {
			t.Fatal(err)
		}
		if got := string(d.Bytes()); got != before {
			t.Fatalf("undoing the edits of\n%q\ngives\n%q, want\n%q", installed, got, before)
		}
	})
}

var stringOrComment = regexp.MustCompile(`"(?:\\.|[^"\\])*"|//[^\n]*\n|/\*[^*]*\*/`)

func comments(content string) (found []string) {
	for _, token := range stringOrComment.FindAllString(content, -1) {
		if token[0] == '/' {
			found = append(found, token)
		}
	}
	return found
}

// An installation sets three values. All other values and all comments must stay, in the same order.
func TestInstallChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawConfiguration(t, OpenCode)
		d, err := jsonc.ParseDocument("opencode.jsonc", []byte(before))
		if err != nil {
			t.Fatalf("%v in %q", err, before)
		}
		if err := (configuration{d, openCode}).enable(shim, "", never); err != nil {
			t.Fatal(err)
		}
		after := string(d.Bytes())
		if diff := cmp.Diff(comments(before), comments(after)); diff != "" {
			t.Fatalf("comments of\n%s\nin\n%s\n(-before +after):\n%s", before, after, diff)
		}
		want, got := decode(t, before), decode(t, after)
		plugins, _ := want["plugin"].([]any)
		want["plugin"] = append(plugins, any(shim))
		compaction, _ := want["compaction"].(map[string]any)
		if compaction == nil {
			compaction = map[string]any{}
		}
		compaction["auto"], compaction["prune"] = false, false
		want["compaction"] = compaction
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", after, diff)
		}
	})
}

func decode(t interface{ Fatal(...any) }, content string) map[string]any {
	standard, err := hujson.Standardize(bytes.TrimPrefix([]byte(content+"\n"), []byte("\ufeff")))
	if err != nil {
		t.Fatal(err, content)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(standard, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

type home struct {
	Options
	t interface {
		Fatal(...any)
		Helper()
	}
	root, dir string
}

type tester interface {
	Fatal(...any)
	Helper()
	Cleanup(func())
}

func newHome(t tester) *home { return newHomeOf(t, OpenCode) }

func newHomeOf(t tester, harness *Harness) *home {
	t.Helper()
	root, err := os.MkdirTemp("", "magicctx-install")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	h := &home{t: t, root: root}
	env := map[string]string{"HOME": root}
	h.Options = Options{Place: Place{Harness: harness, Env: func(name string) string { return env[name] }, DataDir: filepath.Join(root, "data")}, Plugin: shim}
	h.dir = harness.userDirectories(h.Place)[0]
	// An uninstallation does not remove the schema. So the schema exists from the start, and a test can compare the
	// files before the installation and after the uninstallation.
	h.write(filepath.Join(root, "data", "magicctx.schema.json"), "")
	h.write(filepath.Join(h.dir, "AGENTS.md"), "")
	return h
}

func (h *home) install() *Plan {
	h.t.Helper()
	plan, err := Install(context.Background(), h.Options)
	if err != nil {
		h.t.Fatal(err)
	}
	return plan
}

func (h *home) write(file, content string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) read(file string) string {
	h.t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(content)
}

func (h *home) list() (files []string) {
	h.t.Helper()
	err := filepath.WalkDir(h.root, func(path string, _ os.DirEntry, err error) error {
		files = append(files, strings.TrimPrefix(path, h.root))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}
