package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

const piSettings = "{\n  \"quietStartup\": true,\n  \"retry\": {\"maxRetries\": 2, \"baseDelayMs\": 20}\n}"

func (d *download) withPi() {
	d.t.Helper()
	d.harness = schema.HarnessPi
	agent := pitest.AgentDir(d.user.Home)
	if err := os.MkdirAll(agent, 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agent, "settings.json"), []byte(piSettings), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *download) piOptions() pitest.Options {
	return pitest.Options{
		Repo: product.Repo, Version: suite.Pi(), Home: d.user.Home, Project: d.project, MockURL: d.mock.URL(), KeepSettings: true,
	}
}

type piOpening struct {
	*download
	pi      *agent.Pi
	session string
}

func (d *download) openPi(args ...string) *piOpening {
	d.t.Helper()
	options := d.piOptions()
	options.Args = args
	o := &piOpening{download: d, pi: d.startPi(options)}
	o.session = d.session(o.pi)
	o.play(o.session, mockllm.Say("You are welcome."), mockllm.Say("Of course."))
	return o
}

func (o *piOpening) ask(text string, isManaged bool) {
	o.t.Helper()
	o.prompt(o.pi, o.session, text)
	requests := o.requests(o.session)
	o.wantInBody(requests[len(requests)-1], "§ "+text, isManaged)
}

func (o *piOpening) wantNotice(words ...string) {
	o.t.Helper()
	// Await holds the lock of the records while it calls this function, so the function may use only r.
	r, err := o.pi.Await(o.ctx, func(r pitest.Record) bool {
		return r.Type == "extension_ui_request" && strings.Contains(string(r.Raw), `"method":"notify"`) && !slices.ContainsFunc(words, func(word string) bool {
			return !strings.Contains(string(r.Raw), strings.ReplaceAll(word, `"`, `\"`))
		})
	})
	if err != nil {
		o.t.Fatalf("no notice of %q: %v", words, err)
	}
	o.log("the user reads: " + string(r.Raw))
}

func (o *piOpening) close() {
	o.t.Helper()
	o.stop(o.pi)
	o.stopHost()
}

func (d *download) piConfiguration() map[string]string {
	d.t.Helper()
	files := map[string]string{}
	agent := pitest.AgentDir(d.user.Home)
	for _, name := range []string{"settings.json", "magicctx.jsonc", "extensions", "npm"} {
		if content, err := os.ReadFile(filepath.Join(agent, name)); err == nil {
			files[name] = string(content)
		} else if !os.IsNotExist(err) {
			d.t.Fatal(err)
		}
	}
	return files
}

// A user of Pi installs magicctx from one downloaded file, works, and uninstalls it. If the file is moved, a notice
// must name a remedy that works.
func TestPiInstallFromOneFile(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	d := newDownload(t)
	d.withPi()
	before := d.piConfiguration()
	out := d.command("install", "pi", "--yes")
	if !strings.Contains(out, "+  \"packages\": [") {
		t.Errorf("the change is not shown:\n%s", out)
	}
	d.log("installed")

	o := d.openPi()
	o.ask("What is the answer?", true)
	if err := o.pi.Command(o.ctx, o.session, "ctx-status"); err != nil {
		t.Fatal(err)
	}
	o.wantNotice("% of ")
	if out := d.command("doctor"); !strings.Contains(out, "Pi loads the plugin") || strings.Contains(out, "fail ") {
		t.Errorf("doctor is not content:\n%s", out)
	}
	if out := d.command("status"); !strings.Contains(out, "claude-mock-5-0") {
		t.Errorf("status knows no session:\n%s", out)
	}
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
	o = d.openPi()
	o.ask("Is it there?", false)
	o.wantNotice(old+" is gone", `run "magicctx-host install pi"`)
	d.command("install", "pi", "--yes")
	o.ask("And now?", true)
	o.close()

	d.command("uninstall", "pi", "--yes")
	d.log("removed")
	if after := d.piConfiguration(); !maps.Equal(before, after) {
		t.Errorf("left over: %v", after)
	}
	for _, dir := range []string{"pi-shim", "installed"} {
		if _, err := os.Stat(filepath.Join(d.user.DataDir, dir)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	o = d.openPi()
	o.ask("Is it gone?", false)
	o.close()
}

// Pi 0.87 loads the extensions of a project only if the user trusts the project. If magicctx is also installed for all
// projects, the project's loader must do nothing.
func TestPiInstallForAProject(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	d := newDownload(t)
	d.withPi()
	if out := d.command("install", "pi", "--project", "--yes"); !strings.Contains(out, "only if you trust the project") {
		t.Errorf("nothing is said about trust:\n%s", out)
	}
	var trust []string
	if suite.Pi() == pitest.V087 {
		o := d.openPi()
		o.ask("Am I trusted?", false)
		o.close()
		trust = []string{"--approve"} // Pi 0.74 knows neither trust nor this flag
	}
	o := d.openPi(trust...)
	o.ask("What is the answer?", true)
	o.close()

	d.command("install", "pi", "--yes")
	o = d.openPi(trust...)
	o.ask("And with both?", true)
	status, err := d.user.Status(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(status.Sessions, func(st schema.SessionStatus) bool { return st.Session == o.session })
	if i < 0 || status.Sessions[i].Passes != 1 {
		t.Errorf("one prompt made these passes: %+v", status.Sessions)
	}
	o.close()
}

// Without a network, the user installs the npm packages that `task package` makes. There are two ways to add the
// extension to Pi, and both must work: the command `magicctx-host install pi`, and an entry for the package's folder in
// Pi's settings.
func TestPackedPiExtensionWorks(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	d := newDownload(t)
	d.withPi()
	installed := d.installPacked().installed
	hosts, err := filepath.Glob(filepath.Join(installed, "node_modules", "@magicctx", "host-*", "bin", "magicctx-host*"))
	if err != nil || len(hosts) != 1 {
		t.Fatalf("installed hosts: %q, %v", hosts, err)
	}
	d.program = hosts[0]
	d.user.Product.Host = hosts[0]

	d.command("install", "pi", "--yes")
	o := d.openPi()
	o.ask("What is the answer?", true)
	o.close()
	d.command("uninstall", "pi", "--yes")

	settings := fmt.Sprintf(`{"packages": [%q]}`, filepath.Join(installed, "node_modules", "@magicctx", "pi"))
	if err := os.WriteFile(filepath.Join(pitest.AgentDir(d.user.Home), "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	o = d.openPi()
	o.ask("And from the package itself?", true)
	o.close()

	d.mock.AddRule(mockllm.Rule{
		Name:   "print",
		Match:  func(r *mockllm.Request) bool { return strings.Contains(string(r.Body), "In print mode?") },
		Answer: mockllm.InOrder(mockllm.Say("Yes.")),
	})
	printed, err := pitest.Run(d.ctx, d.piOptions(), "--print", "In print mode?")
	if err != nil || printed.Code != 0 || strings.TrimSpace(printed.Stdout) != "Yes." {
		t.Errorf("print mode: %+v, %v", printed, err)
	}
	d.wantInBody(d.requests("print")[0], "§1§ In print mode?", true)
	d.stopHost()
}
