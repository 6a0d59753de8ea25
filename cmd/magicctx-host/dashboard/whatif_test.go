package dashboard

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/storetest"
)

func (s *served) record(trace string) {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "traces", trace))
	storetest.Must(s.t, err)
	dir := filepath.Join(s.dir, "traces")
	storetest.Must(s.t, os.MkdirAll(dir, 0o700))
	storetest.Must(s.t, os.WriteFile(filepath.Join(dir, "1700000000001-1-"+trace), content, 0o600))
}

func (s *served) replayed() (state replayState) {
	s.t.Helper()
	for {
		status, body := s.api("GET", "/api/replay", "")
		if err := json.Unmarshal([]byte(body), &state); status != http.StatusOK || err != nil {
			s.t.Fatalf("%d %s", status, body)
		}
		if !state.IsRunning {
			return state
		}
		time.Sleep(5 * time.Millisecond)
	}
}

const ofTrace = `"harness":"opencode","session":"ses_dfc3bf614ffeFDA0pnzI03kh24"`

func TestASessionIsReplayedWithOtherSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("replays recorded sessions")
	}
	s := serve(t).enter()
	start := func(request string) (int, string) { return s.api("POST", "/api/replay", `{`+request+`}`) }
	start(ofTrace + `,"action":"share"`)
	if state := s.replayed(); !strings.Contains(state.Error, "trace on records the next session") {
		t.Errorf("without a trace: %+v", state)
	}
	s.record("short.jsonl.gz")
	storetest.Open(t, s.dir) // the database has the prices of models
	for _, c := range []struct{ trial, want string }{
		{`{}`, "at least one other setting"},
		{`{"threshold":5}`, "from 20 to 80"},
		{`{"threshold":-70}`, "from 20 to 80"},
		{`{"spending":"\u001b[2Jcheap"}`, `spending is \"cheap\"`},
		{`{"window":"many"}`, "not a number of tokens"},
		{`{"prices":"1 2 3"}`, "four are needed"},
		{`{"prices":"1 2 3 -4"}`, "four are needed"},
		{`{"prices":"/etc/passwd"}`, "knows no prices"},
	} {
		start(ofTrace + `,"action":"what-if","trial":` + c.trial)
		if state := s.replayed(); !strings.Contains(string(json.Quote(state.Error)), c.want) || state.Rows != nil {
			t.Errorf("%s: %+v, want %s", c.trial, state, c.want)
		}
	}
	for _, c := range []struct{ request, want string }{
		{`"action":"burn"`, "what-if, share or cancel"}, {`"action":`, "read the request"},
	} {
		if status, body := start(c.request); status != http.StatusUnprocessableEntity || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.request, status, body)
		}
	}
	start(ofTrace + `,"action":"what-if","trial":{"prices":"300 375 30 1500","window":"100k"}`)
	state := s.replayed()
	if len(state.Rows) == 0 || state.Rows[0].Recorded == state.Rows[0].Tried || !strings.Contains(state.Sentence, "more than with the recorded ones") {
		t.Errorf("%+v", state)
	}
	start(ofTrace + `,"action":"share"`)
	if state := s.replayed(); state.Error != "" {
		t.Errorf("%+v", state)
	}
	status, body := s.api("POST", "/api/report", "")
	if status != http.StatusOK || !strings.Contains(body, "session 1") || strings.Contains(body, "ses_dfc3bf614ffeFDA0pnzI03kh24") || strings.Contains(body, "claude") {
		t.Errorf("%d %.300s", status, body)
	}
	if status, _ := s.api("POST", "/api/report", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("the report is there a second time: %d", status)
	}
}

// Only one replay runs at a time.
func TestAReplayIsCancelled(t *testing.T) {
	if testing.Short() {
		t.Skip("replays recorded sessions")
	}
	s := serve(t).enter()
	s.record("long.jsonl.gz")
	const request = `{"harness":"opencode","session":"ses_dfc3bbe7affeGWQ0tEGUVBqyTZ","action":"what-if","trial":{"spending":"frugal"}}`
	if status, body := s.api("POST", "/api/replay", request); status != http.StatusOK || !strings.Contains(body, `"isRunning":true`) {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := s.api("POST", "/api/replay", request); status != http.StatusUnprocessableEntity || !strings.Contains(body, "another replay") {
		t.Errorf("%d %s", status, body)
	}
	s.api("POST", "/api/replay", `{"action":"cancel"}`)
	if state := s.replayed(); !strings.Contains(state.Error, "was cancelled") {
		t.Errorf("%+v", state)
	}
}
