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

// All methods of a Server are safe for concurrent use.
type Server struct {
	http *httptest.Server
	stop chan struct{} // closed by Close, which ends delays and hangs

	// mu guards all fields below.
	mu       sync.Mutex
	rules    []Rule
	queue    []Step
	requests []*Request
	cache    promptcache.Cache
	nextID   int
	binding  binding
	// When a client gives up a request, the server closes the channel `abandoned`, and puts a new channel in its place.
	abandoned chan struct{}
}

// Start listens on a free port of 127.0.0.1. Close stops the server.
func Start() *Server {
	s := &Server{stop: make(chan struct{}), abandoned: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *Server) URL() string { return s.http.URL }

func (s *Server) Close() {
	close(s.stop)
	s.http.CloseClientConnections()
	s.http.Close()
}

// AddRule adds a rule after the others. The first rule that matches answers a request.
func (s *Server) AddRule(r Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

// Enqueue adds steps to the queue. If no rule matches a request, the next step of the queue answers it. If the queue is
// empty, the server refuses the request, and the test fails.
func (s *Server) Enqueue(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, steps...)
}

func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Abandoned returns a channel that is closed when a client next gives up a request before the answer begins.
func (s *Server) Abandoned() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abandoned
}

func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.queue, s.requests, s.cache, s.nextID, s.binding = nil, nil, nil, promptcache.Cache{}, 0, binding{}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	dialect, ok := dialectOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has closed the connection
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

// One lock protects the list of requests, the queue and the cache, so that all three have the same order.
func (s *Server) accept(req *Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()

	req.Seq = len(s.requests) + 1
	s.requests = append(s.requests, req)
	var step Step
	if step.Error = s.binding.check(req); step.Error == nil {
		step = s.choose(req)
	} else if rule := s.ruleFor(req); rule != nil {
		req.Rule = rule.Name // the rule is named, but its answer is not used
	}
	for i, b := range step.Blocks {
		if b.kind == kindTool && b.id == "" {
			s.nextID++
			step.Blocks = append([]Block(nil), step.Blocks...)
			step.Blocks[i].id = numberedID(req.Dialect, s.nextID)
		}
	}
	step = s.binding.sign(req, step)
	if step.Error == nil { // a refused prompt does not enter the cache
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
	if rule := s.ruleFor(req); rule != nil {
		req.Rule = rule.Name
		return rule.Answer(req)
	}
	if len(s.queue) == 0 {
		return exhausted
	}
	step := s.queue[0]
	s.queue = s.queue[1:]
	return step
}

func (s *Server) ruleFor(req *Request) *Rule {
	for i := range s.rules {
		if s.rules[i].Match(req) {
			return &s.rules[i]
		}
	}
	return nil
}

func (s *Server) wait(r *http.Request, step Step) bool {
	if step.Until != nil {
		step.Until(r.Context())
	}
	var delay <-chan time.Time // a nil channel never delivers
	if !step.Hang {
		delay = time.After(step.Delay)
	}
	select {
	case <-delay:
		return true
	case <-r.Context().Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.abandoned)
		s.abandoned = make(chan struct{})
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
			return // the client has closed the connection
		}
	}
	if step.Drop {
		// This panic breaks the connection in the middle of the answer. Without it, the server would end the chunked body
		// properly.
		panic(http.ErrAbortHandler)
	}
}
