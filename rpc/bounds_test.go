package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// Several clients together start more calls than the host runs at a time. During these calls, the host asks the clients
// questions, and they never answer. The passes of another client must not wait for the stuck calls.
func TestUnansweredQuestionsOfOneClientDoNotStopTheOthers(t *testing.T) {
	asked, answer := make(chan struct{}, 4*maxRunning), make(chan struct{})
	h := &scriptedHost{transform: func(ctx context.Context, c client.Client, p schema.TransformParams) (m schema.WireMutation, err error) {
		if strings.HasPrefix(p.Session, "stuck") {
			_, _ = c.ModelLimits(ctx, schema.ModelLimitsParams{})
		}
		return m, nil
	}}
	r := newRig(t, h)
	var stuck []*Client
	for range 1 + maxRunning/maxRunningOfClient { // a single client cannot take all places, but several together could
		c := r.connect(func(context.Context, string, json.Value) (any, error) {
			asked <- struct{}{}
			<-answer
			return schema.ModelLimits{}, nil
		})
		mustCall(t, c, schema.MethodInitialize, hello(), nil)
		stuck = append(stuck, c)
	}
	done := make(chan error)
	for i, c := range stuck {
		for j := range maxRunningOfClient {
			go func() {
				_, err := transform(patience(t), c, fmt.Sprintf("stuck %d %d", i, j), 0, "[]")
				done <- err
			}()
		}
	}
	for range len(stuck) * maxRunningOfClient { // more than maxRunning calls wait for an answer at the same time
		wait(t, "a question", asked)
	}
	other := r.open()
	if _, err := transform(patience(t), other, "other", 0, "[]"); err != nil {
		t.Errorf("a pass of another client: %v", err)
	}
	close(answer)
	for range len(stuck) * maxRunningOfClient {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	// The host sends the answer of a call first, and frees the call's place in lanes.running a moment later. So the
	// test waits until all places are free.
	for until := patience(t); len(r.server.lanes.running) != 0; time.Sleep(time.Millisecond) {
		if until.Err() != nil {
			t.Fatalf("%d places are taken, and no call is running", len(r.server.lanes.running))
		}
	}
}

func TestUnfinishedAttachmentCostsLittleMoreThanItsBytes(t *testing.T) {
	const announced = 300 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	mem := &memory{limit: maxFrameMemory}
	res := &reservation{of: mem}
	_, read, err := readExactly(io.LimitReader(zeros{}, announced-1), announced, res)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) || read != announced-1 {
		t.Fatalf("%d bytes, error %v", read, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > announced*5/4 {
		t.Errorf("allocated %d MB for an attachment of %d MB", got>>20, announced>>20)
	}
	if mem.used != announced {
		t.Errorf("%d bytes are reserved, the buffer has %d", mem.used, announced)
	}
	res.release()
	if mem.used != 0 {
		t.Errorf("%d bytes stay reserved", mem.used)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// If the frames of all clients together need too much memory, the next frame is refused. Its connection stays open.
func TestMessagesOfAllClientsAreBounded(t *testing.T) {
	begun, release := make(chan struct{}, 1), make(chan struct{})
	r := newRig(t, &scriptedHost{transform: func(_ context.Context, _ client.Client, p schema.TransformParams) (m schema.WireMutation, err error) {
		if p.Session == "large" {
			begun <- struct{}{}
			<-release
		}
		return m, nil
	}})
	const large = 6 << 20
	r.server.memory.limit = firstGrowBytes + large + 1<<20 // enough for one attachment that grows, not for two
	first, second := r.open(), r.open()
	served := make(chan error, 1)
	go func() {
		_, err := transform(patience(t), first, "large", 0, spaces(large))
		served <- err
	}()
	wait(t, "the large pass to begin", begun)
	_, err := transform(patience(t), second, "another", 0, spaces(large))
	wantCode(t, err, schema.CodeBusy)
	if _, err := transform(patience(t), second, "small", 0, "[]"); err != nil {
		t.Errorf("a small pass of the refused client: %v", err)
	}
	close(release)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := transform(patience(t), second, "another", 0, spaces(large)); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	first.Close(context.Background())
	second.Close(context.Background())
}

func TestMessagesOfOneClientAreBounded(t *testing.T) {
	sum := &memory{of: "all", limit: 100}
	one := &memory{of: "one", limit: 60, sum: sum}
	other := &memory{of: "other", limit: 60, sum: sum}
	for _, step := range []struct {
		of   *memory
		n    int
		room bool
	}{{one, 50, true}, {one, 20, false}, {other, 60, false}, {other, 50, true}} {
		if err := step.of.take(step.n); (err == nil) != step.room || err != nil && !errors.Is(err, errNoMemory) {
			t.Errorf("%s takes %d: %v", step.of.of, step.n, err)
		}
	}
	one.give(50)
	other.give(50)
	if one.used != 0 || other.used != 0 || sum.used != 0 {
		t.Errorf("left: %d, %d, %d in sum", one.used, other.used, sum.used)
	}
}

// The server reserves memory for each frame. When a call returns, it must release the memory of the call's frame. For a
// frame that starts no call, for example with an unknown method, it must release the memory when it reads the next
// frame.
func TestMemoryOfFramesIsGivenBack(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	c := r.open()
	for _, messages := range []string{"[]", spaces(5 << 20)} {
		if _, err := transform(patience(t), c, "s", 0, messages); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Call(patience(t), "no/such/method", nil, nil)
	left := make(chan struct{})
	go func() {
		c.Close(context.Background())
		for r.server.clients() != nil {
			runtime.Gosched()
		}
		close(left)
	}()
	wait(t, "the client to leave", left)
	r.server.memory.mu.Lock()
	defer r.server.memory.mu.Unlock()
	if r.server.memory.used != 0 || r.server.names.used != 0 {
		t.Errorf("%d bytes of messages and %d of names are kept for nobody", r.server.memory.used, r.server.names.used)
	}
}

// If the rest of a frame never arrives, the host closes the connection, so that the frame does not keep its memory.
func TestUnfinishedFrameEndsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logBuffer{}
		server := NewServer(Always(&scriptedHost{}), Options{Log: log.logger()})
		ours, theirs := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			server.ServeConn(t.Context(), ours)
		}()
		fmt.Fprintf(theirs, "Content-Length: 100\r\nAttachment-Length: %d\r\n\r\n{", 300<<20)
		<-served
		if want := os.ErrDeadlineExceeded.Error(); !strings.Contains(log.String(), want) {
			t.Errorf("log does not say %q:\n%s", want, log)
		}
		theirs.Close()
	})
}

// Every status contains the directories of all clients, so very long names would make every status too large.
func TestLongNamesLeaveStatusAndHandshakeAlone(t *testing.T) {
	huge := strings.Repeat("x", 7<<20)
	r := newRig(t, &scriptedHost{status: func(context.Context) (st schema.StatusResult, err error) {
		st.Reason = strings.Repeat("r", 8<<20) // a reason of this size would be a bug of the host
		return st, nil
	}})
	for field, change := range map[string]func(*schema.InitializeParams){
		"client":        func(p *schema.InitializeParams) { p.Client = huge },
		"clientVersion": func(p *schema.InitializeParams) { p.ClientVersion = huge },
		"directory":     func(p *schema.InitializeParams) { p.Directory = huge },
		"worktree":      func(p *schema.InitializeParams) { p.Worktree = huge },
	} {
		p := hello()
		change(&p)
		err := r.connect(nil).Call(patience(t), schema.MethodInitialize, p, nil)
		if e := wantCode(t, err, -32602); !strings.Contains(e.Message, "/"+field+" has ") {
			t.Errorf("%s: %s", field, e.Message)
		}
	}
	c := r.open()
	_, err := transform(patience(t), c, huge, 0, "[]")
	wantCode(t, err, -32602)

	// Many directories with long names cannot fill a status either.
	refused := 0
	for i := range 10 {
		p := hello()
		p.Directory = fmt.Sprintf("/%d/%s", i, huge[:maxPathBytes-10])
		if err := c.Call(patience(t), schema.MethodInitialize, p, nil); err != nil {
			wantCode(t, err, schema.CodeBusy)
			refused++
		}
	}
	if refused != 8 { // "/work" and two of these names take less than maxClientNames
		t.Errorf("%d of 10 directories were refused", refused)
	}
	var names bytes.Buffer
	for _, client := range r.server.clients() {
		names.WriteString(strings.Join(client.Directories, ""))
	}
	if names.Len() > maxClientNames {
		t.Errorf("the directories of one client take %d bytes in a status", names.Len())
	}
	if err := c.Call(patience(t), schema.MethodStatus, nil, nil); err == nil {
		t.Fatal("the test needs a status that cannot be answered")
	}
	var v schema.VersionResult
	mustCall(t, r.connect(nil), schema.MethodVersion, nil, &v)
	if v.Version != Version || v.PID != os.Getpid() || v.Protocol != protocol {
		t.Errorf("the running release is %+v", v)
	}
}

// The clients with a long backlog are disconnected.
func TestUnreadAnswersOfAllClientsAreBounded(t *testing.T) {
	var all atomic.Int64
	all.Store(maxUnread + 1) // as if other clients had so many bytes to read
	writeNothing := writerFunc(func([]byte) (int, error) { select {} })
	small, stuck := newOutbox(writeNothing, func(error) {}), newOutbox(writeNothing, func(error) {})
	small.all, stuck.all = &all, &all
	for range 2 {
		if err := small.put([]byte("an answer")); err != nil {
			t.Errorf("a peer that is hardly behind: %v", err)
		}
	}
	if err := stuck.put(make([]byte, fairUnread+1)); err != nil {
		t.Fatal(err)
	}
	if err := stuck.put([]byte("more")); !errors.Is(err, errPeerStalled) {
		t.Errorf("a peer that is behind gets more: %v", err)
	}
	stuck.close()
	stuck.close()
	small.close()
	if got := all.Load(); got != maxUnread+1 {
		t.Errorf("%d bytes wait, want the %d of the others", got, maxUnread+1)
	}
}

func spaces(n int) string { return "[" + strings.Repeat(" ", n-2) + "]" }

// If maxConns clients are connected, the host refuses another client and gives the reason. Connected clients are not
// affected. Even the refused client can ask the host to stop, so a new release can still take over. When a client
// leaves, another can connect.
func TestConnectionsAreBounded(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	first := r.open()
	var ends []context.CancelFunc
	for range maxConns - 1 {
		ours, theirs := net.Pipe()
		served := r.serve(ours)
		end := func() { theirs.Close(); <-served }
		t.Cleanup(end)
		ends = append(ends, end)
	}
	for until := patience(t); ; time.Sleep(time.Millisecond) { // ServeConn runs on other goroutines
		r.server.mu.Lock()
		n := len(r.server.conns)
		for c := range r.server.conns {
			c.mu.Lock()
			c.client.initialized = true // the server closes no initialized connection
			c.mu.Unlock()
		}
		r.server.mu.Unlock()
		if n == maxConns {
			break
		}
		if until.Err() != nil {
			t.Fatalf("the server has %d connections", n)
		}
	}
	late := r.connect(nil)
	err := late.Call(patience(t), schema.MethodInitialize, hello(), nil)
	if refused := wantCode(t, err, schema.CodeBusy); !strings.Contains(refused.Message, "256 programs are connected") {
		t.Errorf("refused with %q", refused.Message)
	}
	mustCall(t, late, schema.MethodVersion, schema.VersionParams{}, nil)
	if _, err := transform(patience(t), first, "s", 0, "[]"); err != nil {
		t.Errorf("a client that was there: %v", err)
	}
	ends[0]()
	r.open()
	mustCall(t, late, schema.MethodShutdown, schema.ShutdownParams{Host: true}, nil)
	wait(t, "the request to stop", r.server.StopRequested())
}

// Regression test (peers P3): 256 connections that sent no message kept every new client out.
func TestSilentConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &scriptedHost{})
		silent, theirs := net.Pipe()
		start := time.Now()
		served := r.serve(silent)
		speaks := r.connect(nil)
		mustCall(t, speaks, schema.MethodVersion, schema.VersionParams{}, nil)
		io.Copy(io.Discard, theirs)
		<-served
		if elapsed := time.Since(start); elapsed < silenceTimeout || elapsed > 2*silenceTimeout {
			t.Errorf("ended after %v, want %v", elapsed, silenceTimeout)
		}
		time.Sleep(silenceTimeout)
		mustCall(t, speaks, schema.MethodVersion, schema.VersionParams{}, nil)
	})
}

// Regression test: 256 connections that had sent a message, but never initialized, kept every new client out.
func TestNewClientTakesThePlaceOfOneThatNeverInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &scriptedHost{})
		first := r.open()
		for range maxConns - 1 {
			idle := r.connect(nil)
			mustCall(t, idle, schema.MethodVersion, schema.VersionParams{}, nil)
		}
		wantCode(t, r.connect(nil).Call(t.Context(), schema.MethodInitialize, hello(), nil), schema.CodeBusy)
		time.Sleep(initializeTimeout)
		r.open()
		r.open()
		if _, err := transform(t.Context(), first, "s", 0, "[]"); err != nil {
			t.Errorf("a client that was there: %v", err)
		}
		synctest.Wait()
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		if n := len(r.server.conns); n != maxConns {
			t.Errorf("%d connections", n)
		}
	})
}

func TestRefusedConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &scriptedHost{})
		for range maxConns {
			r.server.conns[&conn{since: time.Now()}] = struct{}{}
		}
		ours, theirs := net.Pipe()
		start := time.Now()
		served := r.serve(ours)
		io.Copy(io.Discard, theirs)
		<-served
		if elapsed := time.Since(start); elapsed < refusalTimeout || elapsed > 2*refusalTimeout {
			t.Errorf("ended after %v, want %v", elapsed, refusalTimeout)
		}
	})
}
