package e2e

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

var views = flag.Duration("views", 0, "measure for this long what the views cost while nothing happens, and then what they cost a request")

const (
	// maxIdle is the largest allowed share of one core for a view when nothing happens.
	maxIdle = 0.005
	// maxSlower bounds how much open views may slow down a request, as the ratio of its time with views to its time
	// without views.
	maxSlower   = 1.03
	subscribers = 200
	// `measured` is the number of compared requests. Before them, warmUp requests warm up the hosts.
	measured, warmUp = 600, 50
)

// While nothing happens, a view must use almost no CPU time, and all views together must not slow down a request. The
// times depend on the machine, so the test prints them, and fails only if a value exceeds its limit. The sidebar is
// measured without OpenCode, because OpenCode's own screen would need more time. `task bench:views` runs this test.
func TestViewsCostNothing(t *testing.T) {
	if *views == 0 {
		t.Skip("a measurement: task bench:views")
	}
	needs(t, schema.HarnessPi)
	t.Run("Host", hostViews)
	t.Run("OpenCode", sidebarCost)
	t.Run("Pi", widgetCost)
}

func hostViews(t *testing.T) {
	chromium, _ := suite.Browser(t, product.Repo)
	d, alone := newDownload(t), newDownload(t)
	hosts := []*bench{d.bench(), alone.bench()}
	for _, h := range hosts {
		h.request()
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
	followers := d.subscribe()
	status, err := d.user.Status(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	measure(t, []row{
		{"status --watch", watch.PID(), 0},
		{"dashboard without a page", closed, 0},
		{"dashboard with an open page", opened, 0},
		{fmt.Sprintf("host with %d subscribers and these views", subscribers), status.PID, 0},
	})

	var took [2][]time.Duration
	for i := range warmUp + measured {
		for k := range hosts {
			k = (k + i) % 2
			if one := hosts[k].request(); i >= warmUp {
				took[k] = append(took[k], one)
			}
		}
	}
	await(t, followers, hosts[0].told)
	with, without := middle(took[0]), middle(took[1])
	ratio := with.Seconds() / without.Seconds()
	t.Logf("a request: %s with these views and %d subscribers, %s without; ratio %.3f, goal %.2f", with, subscribers, without, ratio, maxSlower)
}

func sidebarCost(t *testing.T) {
	d := newDownload(t)
	d.bench().request()
	run := func(args ...string) int {
		cmd := exec.CommandContext(d.ctx, filepath.Join(product.Repo, "node_modules", ".bin", "bun"), append([]string{filepath.Join(product.Repo, "e2e", "testdata", "sidebar.mjs")}, args...)...)
		cmd.Dir, cmd.Env, cmd.Stderr = d.project, append(d.env(), "MAGICCTX_HOST="+d.program), os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			_, err = cmd.StdinPipe()
		}
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(cmd) })
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		shown, err := bufio.NewReader(out).ReadString('\n')
		late.Stop()
		if err != nil || !strings.HasPrefix(shown, "shown: ") {
			t.Fatalf("%q shows %q, %v", args, shown, err)
		}
		return cmd.Process.Pid
	}
	bundle := filepath.Join(filepath.Dir(product.Shim), "tui.js")
	without := run()
	measure(t, []row{
		{"sidebar in OpenCode 1", run("1", bundle, "bench"), without},
		{"half in a terminal of OpenCode 2", run("2", bundle, "bench"), without},
	})
}

func widgetCost(t *testing.T) {
	var pids [2]int
	for i := range pids {
		w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
		o := w.withPlugin()
		ready, words := []string{"claude-mock-5-0", "\nmagicctx"}, []string{"Hello.", "of 200k tokens"}
		if i == 1 {
			o.Plugins = nil
		}
		w.mock.Enqueue(mockllm.Say("Hello."))
		p := w.onTerminal(w.piOptions(o), typed{"", ready[:2-i]})
		defer p.Stop()
		time.Sleep(2 * time.Second) // without the widget, nothing shows that Pi reads keys
		w.typeAll(p, typed{"Hello?\r", words[:2-i]})
		pids[i] = p.PID()
	}
	measure(t, []row{{"widget in Pi", pids[0], pids[1]}})
}

type row struct {
	name string
	pid  int
	less int // the same program without the view: its time does not count
}

func measure(t *testing.T, rows []row) {
	t.Helper()
	time.Sleep(5 * time.Second) // what starts comes to rest
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
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func (d *download) host(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.ctx, d.program, args...)
	cmd.Dir, cmd.Env = d.project, d.env()
	return cmd
}

// The method `dashboard` starts the program's dashboard, and returns the id of its process and the address that it
// printed.
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

// The method `subscribe` follows all sessions with many clients until the test ends.
func (d *download) subscribe() []*subscriber {
	d.t.Helper()
	d.t.Setenv("XDG_RUNTIME_DIR", d.user.Home.Runtime)
	endpoint, err := daemon.NewEndpoint(d.user.DataDir)
	if err != nil {
		d.t.Fatal(err)
	}
	all := make([]*subscriber, subscribers)
	for i := range all {
		conn, err := daemon.Dial(d.ctx, endpoint)
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { conn.Close() })
		all[i] = &subscriber{ended: make(chan error, 1)}
		send := func(id int, method string, params any) {
			body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
			if _, err := fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				d.t.Fatal(err)
			}
		}
		send(1, schema.MethodInitialize, schema.InitializeParams{Protocol: schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor}, Client: "subscriber", PID: os.Getpid()})
		send(2, schema.MethodSessionSubscribe, schema.SubscribeParams{})
		go all[i].read(conn)
	}
	return all
}

// A subscriber is a client that follows all sessions. It does not decode the statuses that it receives. A real view
// would decode them on another core, and the time of real views is measured separately.
type subscriber struct {
	mu     sync.Mutex
	newest []byte
	ended  chan error
}

func (s *subscriber) read(from io.Reader) {
	r := textproto.NewReader(bufio.NewReader(from))
	for {
		head, err := r.ReadMIMEHeader()
		if err != nil {
			s.ended <- err
			return
		}
		length, _ := strconv.Atoi(head.Get("Content-Length"))
		s.mu.Lock()
		s.newest = slices.Grow(s.newest[:0], length)[:length]
		_, err = io.ReadFull(r.R, s.newest)
		s.mu.Unlock()
		if err != nil {
			s.ended <- err
			return
		}
	}
}

// The function `await` waits until each subscriber has received the status after the session's last request.
func await(t *testing.T, all []*subscriber, requests int) {
	t.Helper()
	want := fmt.Sprintf(`"passes":%d,`, requests)
	deadline := time.After(time.Minute)
	for i, s := range all {
		for {
			s.mu.Lock()
			newest := string(s.newest)
			s.mu.Unlock()
			if strings.Contains(newest, want) {
				break
			}
			select {
			case err := <-s.ended:
				t.Fatalf("subscriber %d: %v", i, err)
			case <-deadline:
				t.Fatalf("subscriber %d lacks %s: %s", i, want, newest)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// A bench plays the shim: it sends one request after the other through the bridge.
type bench struct {
	*download
	client   *rpc.Client
	revision uint64
	told     int
}

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

// The method `request` first waits as long as a fast model needs for an answer. Then it adds a message of 500 words,
// and returns the duration of its pass.
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

type times map[int]struct {
	parent int
	used   time.Duration
}

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
