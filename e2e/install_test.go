package e2e

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
)

// A download is a test world that looks like a new user's machine. It contains the downloaded program, but no
// configuration of magicctx.
type download struct {
	*world
	program string
	began   time.Time
}

func newDownload(t *testing.T) *download {
	t.Helper()
	w := newWorld(t, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.user.DataDir = filepath.Join(w.user.Home.Data, "cortexkit", "magic-context")      // the directory that is used if no variable names one
	if err := os.RemoveAll(filepath.Join(w.user.Home.Config, "magicctx")); err != nil { // a new user has no settings
		t.Fatal(err)
	}
	d := &download{world: w, program: filepath.Join(w.root, "downloads", filepath.Base(product.Host)), began: time.Now()}
	if err := os.Mkdir(filepath.Dir(d.program), 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(product.Host)
	if err != nil {
		t.Fatal(err)
	}
	d.write(string(content))
	return d
}

func (d *download) write(content string) {
	d.t.Helper()
	if err := os.WriteFile(d.program, []byte(content), 0o755); err != nil {
		d.t.Fatal(err)
	}
}

func (d *download) command(args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.ctx, d.program, args...)
	cmd.Dir, cmd.Env = d.project, d.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (d *download) env() []string {
	d.t.Helper()
	opencode, err := opencodetest.Binary(product.Repo)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.user.Home.Env(d.project, "PATH="+filepath.Dir(opencode)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func (d *download) log(what string) {
	d.t.Logf("%5.1f s: %s", time.Since(d.began).Seconds(), what)
}

func (d *download) open() *opening {
	d.t.Helper()
	oc := d.start(opencodetest.Options{
		Repo: product.Repo, Home: d.user.Home, Project: d.project, MockURL: d.mock.URL(), Inline: true,
		Config: map[string]any{"snapshot": false},
	})
	events, err := oc.Events(d.ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	o := &opening{download: d, oc: oc, session: d.session(oc), toasts: make(chan string, 100)}
	o.play(o.session, mockllm.Say("You are welcome."), mockllm.Say("Of course."))
	go func() {
		defer close(o.toasts)
		for e := range events {
			if e.Type == "tui.toast.show" {
				var toast struct {
					Title   string `json:"title"`
					Message string `json:"message"`
				}
				if json.Unmarshal(e.Properties, &toast) == nil {
					o.toasts <- toast.Title + ": " + toast.Message
				}
			}
		}
	}()
	return o
}

type opening struct {
	*download
	oc      *agent.OpenCode
	session string
	toasts  chan string
}

const noticeTimeout = time.Minute

func (o *opening) wantToast(words ...string) {
	o.t.Helper()
	for {
		select {
		case toast, ok := <-o.toasts:
			if !ok {
				o.t.Fatalf("OpenCode ended without a notice of %q", words)
			}
			isIt := true
			for _, word := range words {
				isIt = isIt && strings.Contains(toast, word)
			}
			if isIt {
				o.log("the user reads: " + toast)
				return
			}
			o.t.Logf("another notice: %s", toast)
		case <-time.After(noticeTimeout):
			o.t.Fatalf("no notice of %q", words)
		}
	}
}

func (o *opening) ask(text string, isManaged bool) {
	o.t.Helper()
	o.prompt(o.oc, o.session, text)
	requests := o.requests(o.session)
	o.wantInBody(requests[len(requests)-1], "§ "+text, isManaged)
}

func (o *opening) wantStatus() {
	o.t.Helper()
	status := map[string]string{"command": "ctx-status", "arguments": ""}
	before := len(o.requests(o.session))
	if err := o.oc.Call(o.ctx, http.MethodPost, "/session/"+o.session+"/command", status, nil); err != nil {
		o.t.Fatalf("/ctx-status: %v", err)
	}
	if after := len(o.requests(o.session)); after > before {
		o.t.Fatal("OpenCode sent the command to the model")
	}
	messages, err := o.oc.Messages(o.ctx, o.session)
	if err != nil {
		o.t.Fatal(err)
	}
	if answer := messages[len(messages)-1].Text(); !strings.Contains(answer, "% of ") {
		o.t.Fatalf("the answer to /ctx-status is %q", answer)
	}
}

func (o *opening) close() {
	o.t.Helper()
	o.stop(o.oc)
	o.stopHost()
}

// configuration leaves out the files that OpenCode writes.
func (d *download) configuration() map[string]string {
	d.t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"opencode/opencode.json*", "opencode/magicctx*", "magicctx/*"} {
		paths, err := filepath.Glob(filepath.Join(d.user.Home.Config, pattern))
		if err != nil {
			d.t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				d.t.Fatal(err)
			}
			files[path] = string(content)
		}
	}
	return files
}

// A user installs magicctx from one downloaded file, works, and uninstalls it. If the file is moved or damaged, a
// notice must name a remedy that works.
func TestInstallFromOneFile(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	d := newDownload(t)
	before := d.configuration()
	if len(before) > 0 {
		t.Fatalf("the home is not empty: %v", before)
	}
	d.command("install", "opencode", "--yes")
	d.log("installed")

	o := d.open()
	o.ask("What is the answer?", true)
	o.wantStatus()
	if out := d.command("doctor"); !strings.Contains(out, "all is well") {
		t.Errorf("doctor is not content:\n%s", out)
	}
	d.log("doctor is content")
	o.close()

	moved := filepath.Join(d.root, "programs", filepath.Base(d.program))
	if err := os.Mkdir(filepath.Dir(moved), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.program, moved); err != nil {
		t.Fatal(err)
	}
	old := d.program
	d.program = moved
	o = d.open()
	o.ask("Is it there?", false)
	o.wantToast(old+" is gone", `run "magicctx-host install opencode"`)
	d.command("install", "opencode", "--yes")
	o.ask("And now?", true)
	o.wantStatus()
	o.close()

	if suite.All() { // only half of the program was downloaded; shim-core/test/host.test.ts has the notice
		whole, err := os.ReadFile(d.program)
		if err != nil {
			t.Fatal(err)
		}
		d.write("not a program\n")
		o = d.open()
		o.ask("Does it run?", false)
		o.wantToast(d.program+" cannot be started", "Put a working magicctx-host in its place")
		d.write(string(whole))
		o.ask("Does it run now?", true)
		o.wantStatus()
		o.close()
	}

	d.command("uninstall", "opencode", "--yes")
	d.log("removed")
	if after := d.configuration(); !maps.Equal(before, after) {
		t.Errorf("left over: %v", after)
	}
	if _, err := os.Stat(filepath.Join(d.user.DataDir, "opencode-shim")); !os.IsNotExist(err) {
		t.Errorf("the plugin is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.user.DataDir, "installed")); !os.IsNotExist(err) {
		t.Errorf("the record is still there: %v", err)
	}
}

// An installation for a project works through a loader. If magicctx is also installed for all projects, it must still
// run only once.
func TestInstallForAProject(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	d := newDownload(t)
	d.command("install", "opencode", "--project", "--yes")
	if err := opencodetest.SkipDependencyInstall(filepath.Join(d.project, ".opencode")); err != nil {
		t.Fatal(err)
	}
	o := d.open()
	o.ask("What is the answer?", true)
	o.close()

	// While another plugin removes old content, too, magicctx changes nothing.
	other := filepath.Join(d.project, ".opencode", "plugin", "dcp.js")
	if err := os.MkdirAll(filepath.Dir(other), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("export const Other = async () => ({})\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o = d.open()
	o.ask("And beside another?", false)
	o.wantToast("dcp.js prunes the same messages")
	o.close()
	if !suite.All() {
		return // for Pi, TestPiInstallForAProject has the rest
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	o = d.open()
	o.ask("And without it?", true)
	o.close()

	d.command("install", "opencode", "--yes")
	o = d.open()
	o.ask("And with both?", true)
	status, err := d.user.Status(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Sessions) == 0 || status.Sessions[0].Passes != 1 {
		t.Errorf("one prompt made these passes: %+v", status.Sessions)
	}
	o.close()
}
