package mockllm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/promptcache"
)

// A Server answers requests from its script. All methods are safe for
// concurrent use.
type Server struct {
	http *httptest.Server
	stop chan struct{} // closed by Close; ends delays and hangs

	mu       sync.Mutex
	rules    []Rule
	queue    []Step
	requests []*Request
	cache    promptcache.Cache
	nextID   int
}

// Start serves on a free port of the loopback interface until Close.
func Start() *Server {
	s := &Server{stop: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL is the base address, without a path.
func (s *Server) URL() string { return s.http.URL }

// Close ends the requests in flight and the server.
func (s *Server) Close() {
	close(s.stop)
	s.http.CloseClientConnections()
	s.http.Close()
}

// AddRule adds a rule behind those that are there. The first match answers.
func (s *Server) AddRule(r Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

// Enqueue adds steps to the queue that answers what no rule matches. A request
// that finds the queue empty is refused, and its test fails with it.
func (s *Server) Enqueue(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, steps...)
}

// Requests returns what has arrived so far, in order.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Reset forgets rules, queue, requests and the simulated cache.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.queue, s.requests, s.cache, s.nextID = nil, nil, nil, promptcache.Cache{}, 0
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	dialect, ok := dialectOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req := &Request{Dialect: dialect, Path: r.URL.Path, Header: r.Header.Clone(), Body: raw}
	if err := req.parse(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	step := s.accept(req)
	if !s.wait(r, step) {
		return
	}
	if e := step.Error; e != nil {
		writeError(w, dialect, e)
		return
	}
	answer(w, req, step)
}

func dialectOf(r *http.Request) (Dialect, bool) {
	switch {
	case r.Method != http.MethodPost:
		return "", false
	case strings.HasSuffix(r.URL.Path, "/messages"):
		return Anthropic, true
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return OpenAI, true
	}
	return "", false
}

// accept records a request and chooses its answer. The lock covers both, so
// that order of arrival, order of the queue and the cache agree.
func (s *Server) accept(req *Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()

	req.Seq = len(s.requests) + 1
	s.requests = append(s.requests, req)
	step := s.choose(req)
	for i, b := range step.Blocks {
		if b.kind == kindTool && b.id == "" {
			s.nextID++
			step.Blocks = append([]Block(nil), step.Blocks...)
			step.Blocks[i].id = numberedID(req.Dialect, s.nextID)
		}
	}
	if step.Error == nil { // a refused prompt is not read
		req.Simulated = s.cache.Account(time.Now().UnixMilli(), req.Model, req.cacheBlocks())
	}
	req.Reported = req.Simulated
	if step.Usage != nil {
		req.Reported = *step.Usage
	}
	if req.Reported.Output == 0 {
		req.Reported.Output = max(1, estimateTokens(step.size()))
	}
	return step
}

func (s *Server) choose(req *Request) Step {
	for _, rule := range s.rules {
		if rule.Match(req) {
			req.Rule = rule.Name
			return rule.Answer(req)
		}
	}
	if len(s.queue) == 0 {
		return exhausted
	}
	step := s.queue[0]
	s.queue = s.queue[1:]
	return step
}

// wait spends the delay of a step; false means that nobody waits any more.
func (s *Server) wait(r *http.Request, step Step) bool {
	var delay <-chan time.Time // nil: never
	if !step.Hang {
		delay = time.After(step.Delay)
	}
	select {
	case <-delay:
		return true
	case <-r.Context().Done():
	case <-s.stop:
	}
	return false
}

func answer(w http.ResponseWriter, req *Request, step Step) {
	events := anthropicEvents
	whole := anthropicAnswer
	if req.Dialect == OpenAI {
		events, whole = openaiEvents, openaiAnswer
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, whole(req, step))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for e := range events(req, step) {
		if err := e.write(w); err != nil {
			return // the client is gone
		}
	}
	if step.Drop {
		// Without this the server would end the chunked body properly.
		panic(http.ErrAbortHandler)
	}
}
