package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

func (h *harness) indexed(term string) (all []string) {
	h.t.Helper()
	x, err := index.OpenReadOnly(h.ctx, h.dir)
	if errors.Is(err, index.ErrMissing) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer x.Close()
	err = x.View(h.ctx, func(v *index.View) error {
		return v.Find(`"`+term+`"`, index.Scope{}, 99, func(hit index.Hit) { all = append(all, hit.Text) })
	})
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func (h *harness) keepsIndex() { h.host.index.Dir, h.host.index.After = h.dir, time.Millisecond }

func TestPassesKeepTheIndexUpToDate(t *testing.T) {
	h := newHarness(t)
	db := rawhistorytest.NewOpenCode(t, h.readsStores())
	h.keepsIndex()
	h.user("u1", "where is the zebra")
	h.pass()
	h.tool("a1", "output", "stop", 1000)
	h.user("u2", "another zebra")
	db.Add(testSession, apart(h.messages))
	h.pass()
	h.host.background.Wait()
	if got := h.indexed("zebra"); !slices.Equal(got, []string{"another zebra", "where is the zebra"}) {
		t.Errorf("%q", got)
	}
}

// Fixed bug: the answer of a session's last turn was missing from the index until the user's next prompt.
func TestLastAnswerIsIndexedAtTheEndOfTheTurn(t *testing.T) {
	for kind, test := range map[schema.Harness]struct {
		store func(home string) // stores the answer
		event string
	}{
		schema.HarnessOpenCode: {func(home string) {
			rawhistorytest.NewOpenCode(t, home).Add(testSession, []json.Value{json.Value(`{"info":{"id":"a1","role":"assistant","time":{"created":2,"completed":2}},"parts":[{"id":"p1","type":"text","text":"in the zebra"}]}`)})
		}, `{"type":"message.updated","properties":{"sessionID":"ses_1","info":{"id":"a1","sessionID":"ses_1","role":"assistant","time":{"created":2,"completed":2},"finish":"stop"}}}`},
		schema.HarnessOpenCode2: {func(home string) {
			rawhistorytest.NewOpenCode2(t, home).AddRow2(testSession, "a1", "assistant", 1, `{"time":{"created":2,"completed":2},"finish":"stop","content":[{"type":"text","text":"in the zebra"}]}`)
		}, `{"type":"session.step.ended","session":"ses_1","id":"a1","info":{"completed":2,"finish":"stop"}}`},
		schema.HarnessPi: {func(home string) {
			rawhistorytest.NewPi(t, home, testSession).Message(json.Value(`{"role":"assistant","content":[{"type":"text","text":"in the zebra"}],"stopReason":"stop","timestamp":2}`))
		}, `{"type":"message_end","message":{"role":"assistant","stopReason":"stop","timestamp":2}}`},
	} {
		h := newHarnessOf(t, kind)
		home := h.readsStores()
		h.keepsIndex()
		h.user("u1", "where is it")
		h.pass()
		h.host.background.Wait()
		test.store(home)
		if _, err := h.host.Event(t.Context(), h, schema.EventParams{Session: testSession, Directory: "/p", Event: json.Value(test.event)}); err != nil {
			t.Fatal(err)
		}
		h.host.background.Wait()
		if got := h.indexed("zebra"); !slices.Equal(got, []string{"in the zebra"}) {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// New texts get vectors in the background, and ctx_search finds them by their meaning. A service that hangs delays no pass.
func TestPassesGiveVectorsToNewTexts(t *testing.T) {
	isAsked, mayAnswer := make(chan bool, 100), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isAsked <- true
		<-mayAnswer
		var q struct {
			Input []string `json:"input"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &q)
		fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(slices.Repeat([]string{`{"embedding": [1, 0]}`}, len(q.Input)), ","))
	}))
	defer server.Close()
	h := newHarness(t)
	home := h.readsStores()
	file := filepath.Join(home, ".config", "magicctx", "magicctx.jsonc")
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, fmt.Appendf(nil, `{"embedding": {"provider": "openai-compatible", "model": "small", "endpoint": %q}}`, server.URL), 0o600))
	embeddings := &embedding.Source{Env: func(name string) string { return map[string]string{"HOME": home}[name] }}
	h.keepsIndex()
	h.host.index.Embeddings, h.host.tools.Embeddings, h.host.tools.IndexDir = embeddings, embeddings, h.dir
	db := rawhistorytest.NewOpenCode(t, home)
	h.indexes(index.Session{Harness: "pi", ID: "s2", Project: project.OfDirectory("/p")}, "a lion sleeps")
	h.user("u1", "hello")
	db.Add(testSession, apart(h.messages))
	h.pass()
	<-isAsked
	h.pass() // while the service hangs
	close(mayAnswer)
	h.host.background.Wait()
	if got := h.search(`{"query":"feline"}`); !strings.Contains(got, "a lion sleeps") {
		t.Error(got)
	}
	if st := (&embedding.Embedder{Dir: h.dir, Source: embeddings}).Status(h.ctx); st.Texts != 2 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}
