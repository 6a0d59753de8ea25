package e2e

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

var views = flag.Duration("views", 0, "measure for this long what the views cost while nothing happens, and then what they cost a request")

const (
	// maxIdle is the largest share of one core that a view may take while nothing happens.
	maxIdle = 0.005
	// maxSlower is the largest ratio between requests with all views open and requests without.
	maxSlower = 1.03
	// subscribers is the number of clients that follow all sessions, besides the views.
	subscribers = 200
	// measured is the number of requests that are compared, after some in which the hosts warm up.
	measured, warmUp = 300, 50
)

// Each view costs nearly nothing while nothing happens, and all views together do not slow a request down. `task bench:views`
// runs this test. The times depend on the machine, so it prints them, and fails only if the shares are too large.
func TestViewsCostNothing(t *testing.T) {
	if *views == 0 {
		t.Skip("a measurement: task bench:views")
	}
	needs(t, schema.HarnessPi)
	chromium, _ := suite.Browser(t, product.Repo)
	wide := pitest.Size{Columns: 140, Rows: 40}

	d := newDownload(t)
	d.command("install", "opencode", "--yes")
	s := d.screen(wide)
	session := s.open("With magicctx")
	s.play(session, mockllm.Say("Hello."))
	s.say(session, "Hello?")
	s.wait("system prompt", "Hello.")

	plain := newDownload(t)
	bare := plain.screen(wide)
	other := bare.create("Without magicctx")
	bare.play(other, mockllm.Say("Hello."))
	if _, err := bare.client.Prompt(bare.ctx, other, opencodetest.Prompt{Text: "Hello?"}); err != nil {
		t.Fatal(err)
	}
	bare.show(other, "Hello.")

	pis := make([]*pitest.Terminal, 2)
	for i := range pis {
		w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
		o := w.withPlugin()
		shows := []string{"Hello.", "of 200k tokens"}
		if i == 1 {
			o.Plugins, shows = nil, []string{"Hello."}
		}
		w.mock.Enqueue(mockllm.Say("Hello."))
		pis[i] = w.onTerminal(w.piOptions(o), typed{"", []string{"claude-mock-5-0"}}, typed{"Hello?\r", shows})
		defer pis[i].Stop()
	}

	watch, err := pitest.OnTerminal(t.Context(), d.host("status", "--watch"), pitest.UsualSize)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	closed, _ := d.dashboard()
	opened, address := d.dashboard()
	browser := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), address)
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer end(browser)
	d.subscribe()
	status, err := d.user.Status(d.ctx)
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(10 * time.Second) // what starts comes to rest
	rows := []struct {
		name string
		pid  int
		less int // the process without the view, whose time does not count
	}{
		{"status --watch", watch.PID(), 0},
		{"dashboard without a page", closed, 0},
		{"dashboard with an open page", opened, 0},
		{"host with 200 subscribers and all views", status.PID, 0},
		{"sidebar in OpenCode", s.PID(), bare.PID()},
		{"widget in Pi", pis[0].PID(), pis[1].PID()},
	}
	before := cpuTimes(t)
	time.Sleep(*views)
	after := cpuTimes(t)
	for _, r := range rows {
		share := func(pid int) float64 { return (after.of(pid) - before.of(pid)).Seconds() / views.Seconds() }
		cost, note := share(r.pid), ""
		if r.less != 0 {
			note = fmt.Sprintf(" (%.2f %% with magicctx, %.2f %% without)", 100*cost, 100*share(r.less))
			cost -= share(r.less)
		}
		t.Logf("%-40s %6.2f %% of one core%s", r.name, 100*cost, note)
		if cost > maxIdle {
			t.Errorf("%s takes %.2f %% of one core while nothing happens, more than %.1f %%", r.name, 100*cost, 100*maxIdle)
		}
	}

	alone := newDownload(t)
	hosts := []*bench{d.bench(), alone.bench()}
	var took [2][]time.Duration
	for i := range warmUp + measured {
		for k := range hosts {
			k = (k + i) % 2
			if one := hosts[k].request(); i >= warmUp {
				took[k] = append(took[k], one)
			}
		}
	}
	with, without := middle(took[0]), middle(took[1])
	ratio := with.Seconds() / without.Seconds()
	t.Logf("a request: %s with all views and %d subscribers, %s without; ratio %.3f", with, subscribers, without, ratio)
	if ratio > maxSlower {
		t.Errorf("a request takes %.3f times as long, more than %.2f", ratio, maxSlower)
	}
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// host returns a command of the installed program, which finds the user's host.
func (d *download) host(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.ctx, d.program, args...)
	cmd.Dir, cmd.Env = d.project, d.env()
	return cmd
}

// dashboard serves the dashboard until the test ends. It returns the process and the address that a person opens.
func (d *download) dashboard() (pid int, address string) {
	d.t.Helper()
	cmd := d.host("dashboard")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { end(cmd) })
	var said strings.Builder
	for address == "" {
		buf := make([]byte, 1024)
		n, err := out.Read(buf)
		if err != nil {
			d.t.Fatalf("the dashboard: %v\n%s", err, &said)
		}
		said.Write(buf[:n])
		address = regexp.MustCompile(`http://\S+\n`).FindString(said.String())
	}
	return cmd.Process.Pid, strings.TrimSpace(address)
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

// subscribe follows all sessions with many clients until the test ends.
func (d *download) subscribe() {
	d.t.Helper()
	d.t.Setenv("XDG_RUNTIME_DIR", d.user.Home.Runtime)
	endpoint, err := daemon.NewEndpoint(d.user.DataDir)
	if err != nil {
		d.t.Fatal(err)
	}
	for range subscribers {
		c, err := observer.Greet(d.ctx, endpoint, nil)
		if err == nil {
			err = c.Call(d.ctx, schema.MethodSessionSubscribe, schema.SubscribeParams{}, nil)
		}
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { c.Close(d.ctx) })
	}
}

// A bench is a session of a shim that sends requests one after another, through the bridge.
type bench struct {
	*download
	client   *rpc.Client
	revision uint64
	told     int
}

// pipes are the ends of a bridge.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func (d *download) bench() *bench {
	d.t.Helper()
	cmd := d.host("stdio")
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	b := &bench{download: d, client: rpc.NewClient(pipes{out, in}, nil, nil)}
	d.t.Cleanup(func() {
		b.client.Close(d.ctx)
		end(cmd)
		d.stopHost()
	})
	hello := schema.InitializeParams{
		Protocol: schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor}, Client: "bench", Harness: schema.HarnessOpenCode, Directory: d.project, PID: os.Getpid(),
	}
	if err := b.client.Call(d.ctx, schema.MethodInitialize, hello, nil); err != nil {
		d.t.Fatal(err)
	}
	return b
}

// request adds a message of 500 words to the session, and returns how long its pass takes. The pause between two requests is
// that of a fast model.
func (b *bench) request() time.Duration {
	b.t.Helper()
	time.Sleep(20 * time.Millisecond)
	message := fmt.Sprintf(`[{"info":{"id":"m%05d","sessionID":"bench","role":"user","time":{"created":1},"model":{"providerID":"p","modelID":"m"}},"parts":[{"id":"p%05d","type":"text","text":%q}]}]`,
		b.told, b.told, strings.Repeat("word ", 500))
	var answer schema.WireMutation
	params := schema.TransformParams{Session: "bench", Directory: b.project, Base: b.revision, Keep: b.told}
	began := time.Now()
	if err := b.client.CallWithAttachment(b.ctx, schema.MethodTransform, params, json.Value(message), &answer); err != nil {
		b.t.Fatal(err)
	}
	took := time.Since(began)
	b.revision, b.told = answer.Revision, b.told+1
	return took
}

// times are the processor times of the processes of this machine, and their parents.
type times map[int]struct {
	parent int
	used   time.Duration
}

// tick is the unit of the times in /proc.
const tick = 10 * time.Millisecond

func cpuTimes(t *testing.T) times {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	all := times{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil { // it has ended
			continue
		}
		_, rest, _ := strings.Cut(string(content), ") ") // the name before it may hold anything
		fields := strings.Fields(rest)
		number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
		one := all[0]
		one.parent, one.used = number(1), time.Duration(number(11)+number(12))*tick
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		all[pid] = one
	}
	return all
}

// of returns the time of a process with its children.
func (all times) of(pid int) (sum time.Duration) {
	for child := range all {
		for p := child; p > 1; p = all[p].parent {
			if p == pid {
				sum += all[child].used
				break
			}
		}
	}
	return sum
}
