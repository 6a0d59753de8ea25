package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/storetest"
)

type served struct {
	t           *testing.T
	dir         string
	base, token string
	secret      string
	// tells takes the states for the dashboard.
	tells chan State
}

func serve(t *testing.T) *served {
	s := &served{t: t, dir: t.TempDir(), tells: make(chan State)}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, Options{
			Dir: s.dir,
			Follow: func(ctx context.Context, tell func(State)) {
				for {
					select {
					case st := <-s.tells:
						tell(st)
					case <-ctx.Done():
						return
					}
				}
			},
			Session: func(_ context.Context, of schema.SessionStatusParams) (st schema.SessionStatus, err error) {
				if of.Session != storetest.Key.Session || !of.Dropped {
					err = errors.New("the host does not know the session")
				}
				return schema.SessionStatus{InputTokens: 90_000, ContextTokens: 200_000, Pressure: 0.45, NextBust: &schema.NextBust{At: 130_000}, DroppedUnits: []schema.DroppedUnit{{Tag: 2, About: "src/zebra.go\u202e"}}}, err
			},
			Keep: func(_ context.Context, p schema.KeepParams) (r schema.KeepResult, err error) {
				if p.Session != storetest.Key.Session || p.Harness != schema.HarnessOpenCode || len(p.Tags) != 1 || p.Tags[0] != 2 {
					return r, fmt.Errorf("no piece %+v", p)
				}
				if !p.LetGo {
					r.KeptUnits = []schema.KeptUnit{{Tag: 2, Kind: "tool", Tool: "read", About: "src/zebra.go\u202e", Tokens: 3040, Waits: true}}
				}
				return r, nil
			},
			Messages: func(_ context.Context, of store.Key, first, last int, w io.Writer) error {
				for n := first; n <= last; n++ {
					if _, err := fmt.Fprintf(w, "%s %d %s\n", of.Session, n, strings.Repeat("é", 100)); err != nil {
						return err
					}
				}
				return nil
			},
			Read: func(_ context.Context, of rawhistory.Session, first, _ int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error) {
				yield(rawhistory.MessageOf(transcript.OpenCode{}, first, json.Value(`{"info":{"id":"msg_2","role":"assistant"},"parts":[{"id":"prt_2","type":"tool","tool":"read","callID":"c","state":{"status":"completed","input":{"filePath":"src/zebra.go"},"output":"stripes"}}]}`)))
				return rawhistory.Extent{First: 1, Last: 2}, nil
			},
			Identify: func(context.Context, string) (string, error) { return storetest.Project, nil },
			Ready:    func(url string) error { ready <- url; return nil },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s.base, s.token, _ = strings.Cut(<-ready, "/#")
	return s
}

func (s *served) send(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	storetest.Must(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	storetest.Must(s.t, err)
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	storetest.Must(s.t, err)
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || answer.Header.Get("Access-Control-Allow-Origin") != "" {
		s.t.Errorf("%s %s has the policy %q", method, path, policy)
	}
	return answer.StatusCode, string(all)
}

func (s *served) enter() *served {
	s.t.Helper()
	status, body := s.send("POST", "/open", `"`+s.token+`"`)
	if err := json.Unmarshal([]byte(body), &s.secret); status != http.StatusOK || err != nil {
		s.t.Fatalf("%d %s", status, body)
	}
	return s
}

func (s *served) api(method, path, body string) (int, string) {
	s.t.Helper()
	return s.send(method, path, body, "Authorization", "Bearer "+s.secret)
}

func (s *served) remember(content string) {
	s.t.Helper()
	storetest.Must(s.t, memories.Edit(s.t.Context(), s.dir, storetest.Now, func(e *memories.Editor) error {
		_, _, err := e.Write(chronicle.Memory{Project: storetest.Project, Category: "NAMING", Content: content, Source: chronicle.FromUser})
		return err
	}))
}

// Only the browser that has used the token gets data. The server refuses pages of another origin, other users of the
// machine, requests with another host name, and a token that was already used.
func TestOnlyTheBrowserWithTheTokenIsAnswered(t *testing.T) {
	s := serve(t)
	storetest.Open(t, s.dir)
	s.remember("the zebra sleeps at night")
	for _, token := range []string{`""`, `"wrong"`, `null`, `{`, ``, `["` + s.token + `"]`} {
		if status, body := s.send("POST", "/open", token); status == http.StatusOK {
			t.Errorf("token %s: %s", token, body)
		}
	}
	s.enter()
	if status, body := s.send("POST", "/open", `"`+s.token+`"`); status == http.StatusOK {
		t.Errorf("the token works twice: %s", body)
	}
	archive := `{"id":1,"action":"archive"}`
	for _, headers := range [][]string{
		nil,
		{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
		{"Host", "evil.example"},
		{"Cookie", "magicctx=" + s.secret},
		{"Authorization", "Bearer "},
		{"Authorization", "Bearer " + s.token},
		{"Authorization", s.secret},
	} {
		for request := range (&pages{feed: newFeed(t.Context(), func(context.Context, func(State)) {})}).data() {
			method, path, _ := strings.Cut(request, " ")
			for _, path := range []string{path, strings.Replace(path, "/api", "/api/../api", 1)} {
				status, body := s.send(method, path, archive, headers...)
				if status != http.StatusUnauthorized || strings.Contains(body, "zebra") {
					t.Errorf("%v with %v: %d %s", request, headers, status, body)
				}
			}
		}
	}
	if _, body := s.api("GET", "/api/memories", ""); !strings.Contains(body, "the zebra sleeps") || !strings.Contains(body, `"active"`) {
		t.Errorf("the browser with the token gets %s", body)
	}
	// Before the browser lets a page of another origin send the header Authorization, it asks the server with an
	// OPTIONS request. The server must refuse.
	if status, _ := s.send("OPTIONS", "/api/memories", "", "Origin", "http://evil.example", "Access-Control-Request-Headers", "authorization"); status < 400 {
		t.Errorf("a page of another origin may send the header: %d", status)
	}
}

// Outside its random path, the server answers every request with 404. A browser may have cached files of another server
// that used this port before. These files have other paths, so the browser never takes them for a part of the
// dashboard.
func TestOnlyTheRandomPathLeadsToThePage(t *testing.T) {
	s := serve(t)
	files := []string{"GET /", "GET /style.css", "GET /script.js", "POST /open"}
	for request := range (&pages{feed: newFeed(t.Context(), func(context.Context, func(State)) {})}).data() {
		files = append(files, request)
	}
	at := strings.LastIndex(s.base, "/")
	for _, base := range []string{s.base[:at], s.base[:at+1] + strings.Repeat("A", len(s.base)-at-1), strings.ToLower(s.base)} {
		s.base = base
		for _, request := range files {
			method, path, _ := strings.Cut(request, " ")
			if status, body := s.api(method, path, `"`+s.token+`"`); status != http.StatusNotFound || body != "404 page not found\n" {
				t.Errorf("%s%s: %d %s", base, path, status, body)
			}
		}
	}
}

// Another program may have used this port before, and left files in the browser's cache and storage. So until the token
// is used, each answer of the server tells the browser to delete both. Once the token is used, the storage contains the
// dashboard's secret, so the browser must not delete it.
func TestTheBrowserForgetsOtherPages(t *testing.T) {
	s := serve(t)
	cleared := func() string {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.base+"/", nil)
		storetest.Must(t, err)
		answer, err := http.DefaultClient.Do(r)
		storetest.Must(t, err)
		answer.Body.Close()
		return answer.Header.Get("Clear-Site-Data")
	}
	storetest.Same(t, "before the secret", cleared(), `"cache", "storage"`)
	s.enter()
	storetest.Same(t, "with the secret", cleared(), "")
}

func TestMemoriesAreChanged(t *testing.T) {
	s := serve(t).enter()
	storetest.Open(t, s.dir)
	s.remember("the zebra sleeps")
	for _, step := range []struct {
		change string
		status int
		want   string
	}{
		{`{"id":1,"action":"edit","content":"the zebra sleeps at night"}`, http.StatusOK, "the zebra sleeps at night"},
		{`{"id":1,"action":"archive"}`, http.StatusOK, `"status":"archived"`},
		{`{"id":1,"action":"restore"}`, http.StatusOK, `"status":"active"`},
		{`{"id":1,"action":"edit","content":" "}`, http.StatusUnprocessableEntity, "empty"},
		{`{"id":1,"action":"delete"}`, http.StatusUnprocessableEntity, "archive, restore or edit"},
		{`{"id":7,"action":"archive"}`, http.StatusUnprocessableEntity, "7"},
		{`{"id":1,`, http.StatusUnprocessableEntity, "read the change"},
		{strings.Repeat(" ", maxBody+1), http.StatusUnprocessableEntity, "too large"},
	} {
		if status, body := s.api("POST", "/api/memories", step.change); status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%.60s: %d %s, want %d and %q", step.change, status, body, step.status, step.want)
		}
	}
}

func TestWithoutADatabaseThePageIsEmpty(t *testing.T) {
	s := serve(t).enter()
	if status, body := s.api("GET", "/api/memories", ""); status != http.StatusOK || body != "[]" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := s.api("GET", "/api/spend", ""); status != http.StatusOK || !strings.Contains(body, `"rows":[]`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestTabsFollowTheHost(t *testing.T) {
	s := serve(t).enter()
	s.tells <- State{Away: "no host is running"}
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.base+"/api/state", nil)
	storetest.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+s.secret)
	answer, err := http.DefaultClient.Do(r)
	storetest.Must(t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	wants := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the tab was not told %s", want)
	}
	wants("no host is running")
	s.tells <- State{Status: &schema.StatusResult{Sessions: []schema.SessionStatus{{Session: "ses_1", InputTokens: 90_000}}}}
	wants(`"size":"90k tokens of an unknown window"`) // the host's list has no panels
	// Titles that turn the text around reached the cards.
	s.tells <- State{Status: &schema.StatusResult{KnownSessions: 521, Sessions: []schema.SessionStatus{{Session: "ses_\u202e2", Model: schema.Model{ID: "m\x1b[2J"}}}}}
	wants(`"title":"ses_2"`)
	if text := lines.Text(); !strings.Contains(text, `"id":"m"`) || !strings.Contains(text, `"knownSessions":521`) {
		t.Errorf("the tab was told %s", text)
	}
}

func TestErrorsNameNoPath(t *testing.T) {
	s := serve(t).enter()
	storetest.Must(t, os.WriteFile(filepath.Join(s.dir, "magicctx.db"), bytes.Repeat([]byte("zebra"), 10_000), 0o600))
	status, body := s.api("GET", "/api/memories", "")
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, "magicctx.db") || strings.Contains(body, s.dir) {
		t.Errorf("%d %s", status, body)
	}
}

// The bug: a connection stayed open for ever if its request never ended. The stream of events (GET) must stay open.
func TestUnfinishedRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		feed := newFeed(ctx, func(ctx context.Context, _ func(State)) { <-ctx.Done() })
		mux := http.NewServeMux()
		mux.HandleFunc("POST /", answer(func(r *http.Request) (int, error) {
			_, err := io.Copy(io.Discard, r.Body)
			return 0, err
		}))
		mux.HandleFunc("GET /", feed.serve)
		server := newServer(ctx, mux)
		conns := make(pipes)
		go server.Serve(conns)
		for request, isOpen := range map[string]bool{
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{": false,
			"POST / HTTP/1.1\r\nHost: a\r\n":                           false,
			"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                        true,
		} {
			conn, far := net.Pipe()
			conns <- far
			closed := make(chan struct{})
			go func() {
				io.Copy(io.Discard, conn)
				close(closed)
			}()
			io.WriteString(conn, request)
			time.Sleep(10 * idleTimeout) // after an answer, the server closes the connection only when idleTimeout is over
			select {
			case <-closed:
				if isOpen {
					t.Errorf("%q: the connection is closed", request)
				}
			default:
				if !isOpen {
					t.Errorf("%q: the connection is still open", request)
				}
			}
			conn.Close()
		}
		server.Close()
	})
}

type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }
