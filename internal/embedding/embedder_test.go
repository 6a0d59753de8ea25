package embedding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/index"
)

type world struct {
	t        *testing.T
	home     string
	model    string
	vector   func(text string) []float32
	accepts  func(texts []string) bool
	requests atomic.Int64
	server   *httptest.Server
	e        Embedder
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), model: "small", vector: func(string) []float32 { return []float32{1, 0} }}
	w.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		var q struct {
			Input []string `json:"input"`
		}
		body, _ := io.ReadAll(r.Body)
		must(t, json.Unmarshal(body, &q))
		if w.accepts != nil && !w.accepts(q.Input) {
			out.WriteHeader(http.StatusBadRequest)
			return
		}
		type datum struct {
			Embedding []float32 `json:"embedding"`
		}
		a := struct {
			Model string  `json:"model"`
			Data  []datum `json:"data"`
		}{Model: w.model}
		for _, text := range q.Input {
			a.Data = append(a.Data, datum{w.vector(text)})
		}
		must(t, json.MarshalWrite(out, a))
	}))
	t.Cleanup(w.server.Close)
	w.e = Embedder{Dir: filepath.Join(w.home, "data"), Source: &Source{Env: func(name string) string {
		return map[string]string{"HOME": w.home, "KEY": "k"}[name]
	}}}
	w.add()
	return w
}

func (w *world) configure(embedding string) {
	w.t.Helper()
	file := filepath.Join(w.home, ".config", "opencode", "magicctx.jsonc")
	must(w.t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(w.t, os.WriteFile(file, []byte(`{"embedding": `+embedding+`}`), 0o600))
}

func (w *world) uses(model string) {
	w.t.Helper()
	w.configure(fmt.Sprintf(`{"provider": "openai-compatible", "model": %q, "endpoint": %q, "api_key": "{env:KEY}"}`, model, w.server.URL))
}

func (w *world) add(texts ...string) {
	w.t.Helper()
	x, err := index.Open(w.t.Context(), w.e.Dir)
	must(w.t, err)
	must(w.t, x.Update(w.t.Context(), func(tx *index.Tx) error {
		state, err := tx.Session(index.Session{Harness: "pi", ID: "s", Project: "p"})
		for _, text := range texts {
			m := index.Message{Key: text, Ordinal: 1, Chunks: []index.Chunk{{Kind: index.Text, Role: index.User, Text: text}, {Kind: index.Command, Role: index.Tool, Text: "ls"}}}
			err = errors.Join(err, tx.Put(state.Row, "p", m))
		}
		return err
	}))
	must(w.t, x.Close())
}

func (w *world) run() error { return w.e.Run(w.t.Context(), func(int) {}) }

func (w *world) wants(texts, waiting int) {
	w.t.Helper()
	if st := w.e.Status(w.t.Context()); st == nil || st.Texts != texts || st.Waiting != waiting {
		w.t.Errorf("%+v, want %d and %d", st, texts, waiting)
	}
}

func numbered(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint("text ", i))
	}
	return all
}

func TestWithoutAServiceNothingHappens(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	must(t, w.run())
	if st := w.e.Status(t.Context()); st != nil {
		t.Errorf("%+v", st)
	}
	w.configure(`{"provider": "local"}`)
	must(t, w.run())
	if st := w.e.Status(t.Context()); st != nil || w.requests.Load() != 0 {
		t.Errorf("%+v", st)
	}
}

func TestEachTextGetsItsVectorOnce(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.add(numbered(0, 70)...)
	w.wants(0, 70)
	must(t, w.run())
	w.wants(70, 0)
	if n := w.requests.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
	must(t, w.run())
	w.add("one more")
	w.wants(70, 1)
	must(t, w.run())
	w.wants(71, 0)
	if n := w.requests.Load(); n != 4 {
		t.Errorf("%d requests", n)
	}
}

func TestAnotherModelBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.add("one", "two")
	must(t, w.run())
	w.uses("large")
	w.wants(0, 2)
	if err := w.run(); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), `"small", and "large"`) {
		t.Errorf("the server still has the old model: %v", err)
	}
	w.uses("small")
	w.wants(2, 0) // no answer of the new model, so the old vectors are still there
	w.uses("large")
	w.model, w.vector = "large", func(string) []float32 { return []float32{0, 0, 1} }
	must(t, w.run())
	w.wants(2, 0)
	w.uses("small")
	w.wants(0, 2)
}

func TestAnotherDimensionIsRefused(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.add("one")
	must(t, w.run())
	w.vector = func(string) []float32 { return []float32{0, 0, 1} }
	w.add("two")
	if err := w.run(); !errors.Is(err, index.ErrDimensions) || !strings.Contains(err.Error(), "3, and those in the index have 2") {
		t.Error(err)
	}
	w.wants(1, 1)
}

// The refused text must not be sent again and again.
func TestRefusedTextIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.accepts = func(texts []string) bool { return !strings.Contains(strings.Join(texts, "|"), "text 7") }
	w.add(numbered(0, 10)...)
	must(t, w.run())
	w.wants(9, 0)
	before := w.requests.Load()
	must(t, w.run())
	if w.requests.Load() != before {
		t.Error("the text was sent again")
	}
	w.add("text 77") // alone
	if err := w.run(); err == nil {
		t.Error("no error")
	}
	w.wants(9, 0)
}

func TestWrongSettingsGiveUpNoText(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.accepts = func([]string) bool { return false }
	w.add(numbered(0, 10)...)
	for range 2 {
		var refused *RefusedError
		if err := w.run(); !errors.As(err, &refused) {
			t.Error(err)
		}
	}
	w.wants(0, 10)
	w.accepts = nil
	must(t, w.run())
	w.wants(10, 0)
}

func TestDeadServerLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.add("one")
	w.server.Close()
	if w.run() == nil {
		t.Error("no error")
	}
	w.wants(0, 1)
	var told error
	w.e.Source.Failed = func(err error) { told = err }
	service, err := w.e.Source.Service()
	must(t, err)
	if v := w.e.Source.Query(t.Context(), service.Space(), "q"); v != nil || told == nil {
		t.Errorf("%v, %v", v, told)
	}
}

func TestQueryOfAnotherSpaceIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	if v := w.e.Source.Query(t.Context(), "another", "q"); v != nil || w.requests.Load() != 0 {
		t.Error(v)
	}
	service, err := w.e.Source.Service()
	must(t, err)
	if v := w.e.Source.Query(t.Context(), service.Space(), "q"); len(v) != 2 {
		t.Error(v)
	}
}

func TestStopEndsTheRun(t *testing.T) {
	w := newWorld(t)
	w.uses("small")
	w.add(numbered(0, 100)...)
	ctx, cancel := context.WithCancel(t.Context())
	w.vector = func(string) []float32 { cancel(); time.Sleep(time.Millisecond); return []float32{1, 0} }
	if err := w.e.Run(ctx, func(int) {}); err == nil {
		t.Error("no error")
	}
	w.vector = func(string) []float32 { return []float32{1, 0} }
	must(t, w.run())
	w.wants(100, 0)
}
