package e2e

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// While a session is running, the user edits a memory and keeps a dropped unit in the dashboard. The next request must
// not change, because only a bust may change the cached prompt. The next bust must show both.
func TestDashboardOfARunningSession(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	chromium, node := suite.Browser(t, product.Repo)
	const stripes = "stripes stripes stripes"
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": strings.Repeat(stripes+"\n", 60)})
	w.configure(`{"protected_tags": 1}`)
	a := w.launch(w.withPlugin())
	w.until("no memory can be stored", func() bool {
		return strings.Contains(w.hostSays("memory", "add", "--project", w.project, "--category", "naming", "The zebra sleeps."), "1")
	})
	session := w.session(a)
	w.play(session,
		w.readNotes("toolu_dash1"), mockllm.Say("They say stripes."),
		mockllm.Call("toolu_dash2", "ctx_reduce", map[string]any{"drop": "2"}), mockllm.Say("Dropped."),
		mockllm.Say("Three."), mockllm.Say("Four."), mockllm.Say("Five."))
	newest := func() *mockllm.Request {
		all := w.requests(session)
		return all[len(all)-1]
	}
	bust := func(text string) *mockllm.Request {
		if err := a.Command(w.ctx, session, "ctx-flush"); err != nil {
			t.Fatal(err)
		}
		w.prompt(a, session, text)
		return newest()
	}
	w.prompt(a, session, "What do the notes say?")
	w.prompt(a, session, "Drop them.")
	w.wantInBody(newest(), stripes, true)
	dropped := bust("Three?")
	w.wantInBody(dropped, stripes, false)
	w.wantInBody(dropped, "The zebra sleeps.", true)

	lines, end := w.print(product.Host, "dashboard")
	url := ""
	for !strings.HasPrefix(url, "http") && lines.Scan() {
		url = strings.TrimSpace(lines.Text())
	}
	person, ended := w.print(node, filepath.Join(product.Repo, "e2e", "page", "running.mjs"), chromium, url)
	for person.Scan() && person.Text() != "changed" {
		t.Error(person.Text())
	}
	w.prompt(a, session, "Four?")
	for _, text := range []string{stripes, "at night"} {
		w.wantInBody(newest(), text, false)
	}
	shown := bust("Five?")
	for _, text := range []string{stripes, "The zebra sleeps at night."} {
		w.wantInBody(shown, text, true)
	}
	for person.Scan() {
		t.Error(person.Text())
	}
	ended()
	end()
}

func (w *world) print(name string, args ...string) (lines *bufio.Scanner, end func()) {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, name, args...)
	cmd.Env = w.user.Home.Env(w.user.Home.Root, "MAGIC_CONTEXT_DATA_DIR="+w.user.DataDir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	w.t.Cleanup(end)
	return bufio.NewScanner(out), end
}
