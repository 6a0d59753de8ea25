package page

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/dashboard"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/storetest"
)

// If the connection breaks, the page must say so, and try again with growing pauses. If the dashboard was restarted,
// the page must ask the person to open the new address, and stop trying.
func TestDashboardConnectsAgain(t *testing.T) {
	chromium, node, repo := tools(t)
	ctx, stop := context.WithTimeout(t.Context(), browserTimeout)
	defer stop()
	w := newWire(t)
	before, after := w.dashboard(ctx, "45% of 200k"), w.dashboard(ctx, "46% of 200k")
	w.lead(before.address)
	cmd := exec.CommandContext(ctx, node, filepath.Join(repo, "e2e", "page", "reconnect.mjs"), chromium, w.url(before), w.url(after), filepath.Join(repo, "bin", "screens"))
	in, err := cmd.StdinPipe()
	storetest.Must(t, err)
	out, err := cmd.StdoutPipe()
	storetest.Must(t, err)
	storetest.Must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "shown":
			w.lead("")
		case "waited":
			w.lead(before.address)
		case "connected":
			w.lead(after.address)
		default:
			t.Error(lines.Text())
			continue
		}
		fmt.Fprintln(in)
	}
	storetest.Must(t, cmd.Wait())
}

// A wire is a proxy between the browser and one dashboard. When the test exchanges the dashboard, the browser's
// connections break.
type wire struct {
	t        *testing.T
	listener net.Listener

	mu    sync.Mutex
	to    string // the address of the dashboard; empty while the wire leads nowhere
	conns []net.Conn
}

func newWire(t *testing.T) *wire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	storetest.Must(t, err)
	w := &wire{t: t, listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(conn)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		w.lead("")
	})
	return w
}

func (w *wire) lead(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
}

func (w *wire) carry(conn net.Conn) {
	defer conn.Close()
	w.mu.Lock()
	there, err := net.Dial("tcp", w.to) // it fails while the wire leads nowhere
	if err == nil {
		w.conns = append(w.conns, conn, there)
	}
	w.mu.Unlock()
	if err != nil {
		return
	}
	defer there.Close()
	go io.Copy(there, conn)
	io.Copy(conn, there)
}

// path is the part of the URL after the address. It contains the token.
type served struct{ address, path string }

func (w *wire) dashboard(ctx context.Context, size string) served {
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	dir := w.t.TempDir()
	ctx, stop := context.WithCancel(ctx)
	go func() {
		ended <- dashboard.Serve(ctx, dashboard.Options{
			Dir: dir,
			Follow: func(_ context.Context, tell func(dashboard.State)) {
				tell(dashboard.State{Status: &schema.StatusResult{Sessions: []schema.SessionStatus{running(size)}}})
			},
			Ready: func(url string) error { ready <- url; return nil },
		})
	}()
	w.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	address, path, _ := strings.Cut(strings.TrimPrefix(<-ready, "http://"), "/")
	return served{address, path}
}

func (w *wire) url(s served) string { return "http://" + w.listener.Addr().String() + "/" + s.path }
