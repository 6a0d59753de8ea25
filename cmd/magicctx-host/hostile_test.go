package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/json"
)

// The action must end without help.
const patience = 20 * time.Second

// A clone is a hostile repository that the user has just cloned. It is the working directory of the test.
type clone struct {
	t                   *testing.T
	root, home, project string
}

func newClone(t *testing.T) *clone {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &clone{t: t, root: root, home: filepath.Join(root, "home"), project: filepath.Join(root, "project")}
	for _, dir := range []string{c.home, c.project} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": c.home, "XDG_CONFIG_HOME": filepath.Join(c.home, ".config"), "MAGIC_CONTEXT_DATA_DIR": filepath.Join(c.home, "data"),
		"XDG_RUNTIME_DIR": root, "OPENCODE_CONFIG": "", "OPENCODE_CONFIG_DIR": "", "PATH": c.home,
	} {
		t.Setenv(name, value)
	}
	t.Chdir(c.project)
	return c
}

func (c *clone) write(name, content string) string {
	c.t.Helper()
	file := filepath.Join(c.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return file
}

func (c *clone) link(target, name string) {
	c.t.Helper()
	if err := os.Symlink(target, filepath.Join(c.root, name)); err != nil {
		c.t.Skip("no links here:", err)
	}
}

func (c *clone) read(name string) string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.root, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}

func (c *clone) command(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	var out, errs bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(c.t.Context(), args, strings.NewReader(""), &out, &errs, newFakeHost)
	}()
	select {
	case code := <-done:
		return out.String(), errs.String(), code
	case <-time.After(patience):
		c.t.Fatalf("%s does not end", args[0])
		return "", "", 0
	}
}

const spec = "@magicctx/opencode@1"

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

// The attack: the repository has a link to the user's .profile at the path where install writes its backup of the
// repository's configuration. If install followed the link, it would overwrite .profile with text from the repository.
func TestHostileCloneInstallFollowsNoLink(t *testing.T) {
	for _, name := range []string{"opencode.json.magicctx-backup", "opencode.json.magicctx-backup.json"} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t)
			const profile = "{}" // this text would also be a legal record
			c.write("home/.profile", profile)
			c.write("project/opencode.json", "{\"x\": \"\\n evil; \\n\"}")
			c.link(filepath.Join(c.home, ".profile"), filepath.Join("project", name))
			for _, command := range []string{"install", "uninstall"} {
				args := []string{command, "opencode", "--project", "--yes"}
				if command == "install" {
					args = append(args, "--plugin", spec)
				}
				_, errs, code := c.command(args...)
				if code != exitOK {
					t.Errorf("%s ended with %d: %s", command, code, errs)
				}
				if got := c.read("home/.profile"); got != profile {
					t.Errorf("after %s the profile is %q", command, got)
				}
			}
		})
	}
}

// The repository contains a forged record of an installation, and a forged backup. uninstall must not trust either.
func TestHostileCloneUninstallTrustsNoRecord(t *testing.T) {
	c := newClone(t)
	precious := c.write("home/precious.txt", "mine\n")
	c.write("home/other.json", "{}")
	c.write("project/opencode.json", "{}")
	record, err := json.Marshal(map[string]any{
		"spec": "x", "installed": sum("{}"), "former": map[string]any{}, "settings": precious, "settings_hash": sum("mine\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.write("project/opencode.json.magicctx-backup.json", string(record))
	c.write("project/opencode.json.magicctx-backup", "{\"evil\": true}")
	out, errs, _ := c.command("uninstall", "opencode", "--project", "--yes")
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("a file outside of the project was deleted: %v\n%s%s", err, out, errs)
	}
	if got := c.read("project/opencode.json"); got != "{}" {
		t.Errorf("the configuration became %q", got)
	}
}

// The project's configuration file, or its directory, is a link that leads out of the project. install must not follow
// it.
func TestHostileCloneTargetsStayInTheProject(t *testing.T) {
	for name, prepare := range map[string]func(*clone){
		"file":      func(c *clone) { c.link(filepath.Join(c.home, "user.json"), "project/opencode.json") },
		"directory": func(c *clone) { c.link(c.home, "project/.opencode"); c.write("home/opencode.json", "{}") },
		"file in directory": func(c *clone) {
			c.write("project/.opencode/x", "")
			c.link(filepath.Join(c.home, "user.json"), "project/.opencode/opencode.jsonc")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t)
			c.write("home/user.json", "{}")
			prepare(c)
			_, errs, code := c.command("install", "opencode", "--project", "--yes", "--plugin", spec)
			if code != exitFailed || !strings.Contains(errs, "leads out of the project, to "+c.home) {
				t.Errorf("install ended with %d: %s", code, errs)
			}
			if got := c.read("home/user.json"); got != "{}" {
				t.Errorf("a file outside of the project became %q", got)
			}
		})
	}
}

func TestHostileCloneInstallNamesEveryFile(t *testing.T) {
	c := newClone(t)
	c.write("home/dotfiles/opencode.json", "{}")
	c.write("home/.config/opencode/x", "")
	c.link(filepath.Join(c.home, "dotfiles", "opencode.json"), "home/.config/opencode/opencode.json")
	for _, command := range [][]string{
		{"install", "opencode", "--yes", "--plugin", spec},
		{"uninstall", "opencode", "--yes"},
		{"install", "opencode", "--project", "--yes", "--plugin", spec},
		{"uninstall", "opencode", "--project", "--yes"},
	} {
		before := c.files()
		preview, errs, code := c.command(append(command, "--dry-run")...)
		if code != exitOK {
			t.Fatalf("%v: %s", command, errs)
		}
		if changed := differing(before, c.files()); len(changed) > 0 {
			t.Fatalf("%v --dry-run changed %v", command, changed)
		}
		if _, errs, code := c.command(command...); code != exitOK {
			t.Fatalf("%v: %s", command, errs)
		}
		changed := differing(before, c.files())
		if len(changed) == 0 {
			t.Errorf("%v changed nothing", command)
		}
		for file, action := range changed {
			if !strings.Contains("\n"+preview, "\n"+action+" "+file+"\n") {
				t.Errorf("%v: %s of %s was not announced:\n%s", command, action, file, preview)
			}
		}
	}
}

func (c *clone) files() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(c.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// The values are "create", "change" or "delete".
func differing(before, after map[string]string) map[string]string {
	changes := map[string]string{}
	for file, content := range after {
		switch old, ok := before[file]; {
		case !ok:
			changes[file] = "create"
		case old != content:
			changes[file] = "change"
		}
	}
	for file := range before {
		if _, ok := after[file]; !ok {
			changes[file] = "delete"
		}
	}
	return changes
}

// Somebody else's file in the place of the backup stays.
func TestForeignBackupStays(t *testing.T) {
	c := newClone(t)
	c.write("home/.config/opencode/opencode.json", "{}")
	if _, errs, code := c.command("install", "opencode", "--yes", "--plugin", spec); code != exitOK {
		t.Fatal(errs)
	}
	backups, err := filepath.Glob(filepath.Join(c.home, "data", "installed", "*.backup"))
	if err != nil || len(backups) != 1 {
		t.Fatalf("backups: %v (%v)", backups, err)
	}
	if _, errs, code := c.command("uninstall", "opencode", "--yes"); code != exitOK {
		t.Fatal(errs)
	}
	name, err := filepath.Rel(c.root, backups[0])
	if err != nil {
		t.Fatal(err)
	}
	c.write(name, "somebody's")
	before := c.files()
	_, errs, code := c.command("install", "opencode", "--yes", "--plugin", spec)
	if code != exitFailed || !strings.Contains(errs, "is no backup of this program; move it away") {
		t.Errorf("install ended with %d: %s", code, errs)
	}
	if changed := differing(before, c.files()); len(changed) > 0 {
		t.Errorf("changed: %v", changed)
	}
}

// tricks contains characters that hide text on a terminal. A repository or a trace could contain them.
const tricks = "\x1b[1A\x1b[2K\u009b2J\u202e\u2066\x07\x7f"

func wantPrintable(t *testing.T, what, text string) {
	t.Helper()
	if !strings.Contains(text, "visible") {
		t.Errorf("%s does not show the text with the tricks:\n%q", what, text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Errorf("%s prints %q: %q", what, r, text)
			return
		}
	}
}

func TestHostileCloneOutputIsPrintable(t *testing.T) {
	c := newClone(t)
	quoted, err := json.Marshal("visible" + tricks) // a legal JSON string with these characters
	if err != nil {
		t.Fatal(err)
	}
	c.write("project/opencode.json", "{\n  // visible "+tricks+"\n}\n")
	out, _, _ := c.command("install", "opencode", "--project", "--dry-run", "--plugin", spec)
	wantPrintable(t, "the diff of install", out)

	c.write("project/opencode.json", `{"plugin": ["@tarquinen/opencode-dcp@`+string(quoted[1:])+`]}`)
	_, errs, _ := c.command("install", "opencode", "--project", "--yes", "--plugin", spec)
	wantPrintable(t, "a conflict", errs)
	if !strings.Contains(errs, "prunes the same messages") {
		t.Errorf("there is no conflict: %s", errs)
	}

	c.write("project/magicctx.jsonc", `{`+string(quoted)+`: 1, "protected_tags": `+string(quoted)+`}`)
	out, _, _ = c.command("doctor")
	wantPrintable(t, "doctor", out)
	out, _, _ = c.command("doctor", "--json")
	wantPrintable(t, "doctor --json", out)

	trace := c.write("visible"+strings.ReplaceAll(tricks, "/", "")+".jsonl", "{\"visible "+tricks+"\": visible\n")
	_, errs, code := c.command("replay", trace)
	if code == exitOK {
		t.Error("the trace was replayed")
	}
	wantPrintable(t, "an error of replay", errs)
}

// The bug: doctor looked for the plugin's package.json in every directory above a very long path, which took minutes.
func TestHostileCloneDoctorEnds(t *testing.T) {
	c := newClone(t)
	c.write("project/opencode.json", `{"plugin": ["./`+strings.Repeat("a/", 100_000)+`"]}`)
	if out, _, _ := c.command("doctor"); !strings.Contains(out, "conflicts") {
		t.Errorf("doctor says nothing about conflicts:\n%s", out)
	}
}

// The user interrupts doctor while a check is running that ignores its context. doctor must still end, with an error.
func TestHostileCloneDoctorEndsWithItsContext(t *testing.T) {
	c := newClone(t)
	c.write("project/opencode.json", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"doctor"}, strings.NewReader(""), &out, &errs, newFakeHost); code != exitFailed || !strings.Contains(errs.String(), "context canceled") {
		t.Errorf("doctor ended with %d: %s", code, errs.String())
	}
}

func TestHostileCloneLogIsPrintable(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(terminal.Handler(&out, slog.LevelInfo))
	log.Warn("visible "+tricks, "session", "visible "+tricks, "cause", errors.New("visible "+tricks), "list", []string{"visible " + tricks}, "passes", 7)
	// The log contains tint's own colour codes, for example "\x1b[31m". They are harmless, so the test removes them
	// before it looks for other control characters.
	wantPrintable(t, "the log", regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(out.String(), ""))
	if n := strings.Count(out.String(), "visible"); n != 4 {
		t.Errorf("%d of 4 texts are in %q", n, out.String())
	}
	if !strings.Contains(out.String(), "7") {
		t.Errorf("the number is missing in %q", out.String())
	}

	var file bytes.Buffer
	terminal.NewLogger(&file, slog.LevelInfo).Warn("visible "+tricks, "cause", errors.New("visible "+tricks))
	wantPrintable(t, "the log file", file.String())
	var line map[string]any
	if err := json.Unmarshal(file.Bytes(), &line); err != nil || line["cause"] != "visible "+tricks {
		t.Errorf("the line is %q, %v", line, err)
	}
}
